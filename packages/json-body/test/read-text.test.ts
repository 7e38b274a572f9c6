import { once } from "node:events";
import { connect } from "node:net";
import { inspect } from "node:util";
import { currentContext, enterContext, type Middleware, openContext } from "@svc/context";
import { readText } from "@svc/json-body";
import { type ProblemError, sendJson } from "@svc/problem";
import { rawRequest, rejection } from "@svc/test-support";
import { expect } from "chai";
import { serveAll, stacks } from "./support/stacks.ts";

/** Responds with the text of the body; accepts at most 20 bytes. */
const echo: Middleware = (req, res, next) => {
  readText(req, { maxBytes: 20 }).then((text) => sendJson(req, res, 200, { text }), next);
};

/** Returns the bytes of a complete request, after which the server closes the connection. */
function raw(headers: string, body: string | Buffer = ""): Buffer {
  const head = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: text/csv\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}

/** Returns `echo` as middleware, and a promise of the first error that it passes to `next()`. */
function watching(): { readonly watch: Middleware; readonly fault: Promise<ProblemError> } {
  const { promise, resolve } = Promise.withResolvers<ProblemError>();
  const watch: Middleware = (req, res, next) =>
    echo(req, res, (error) => {
      resolve(error as ProblemError);
      next(error);
    });
  return { watch, fault: promise };
}

for (const stack of stacks) {
  describe(`readText on ${stack}`, () => {
    it("reads a body of any type and in any chunks as UTF-8", async () => {
      await using server = await serveAll(stack, [], echo);
      const read = async (bytes: Buffer): Promise<unknown> =>
        JSON.parse(Buffer.from((await rawRequest(server.port, bytes)).body, "latin1").toString());
      expect(await read(raw("Content-Length: 5\r\n", "a,b,c"))).to.eql({ text: "a,b,c" });
      const pieces = Buffer.from("1\r\n\xc3\r\n2\r\n\xa9!\r\n0\r\n\r\n", "latin1");
      expect(await read(raw("Transfer-Encoding: chunked\r\n", pieces))).to.eql({ text: "é!" });
      const broken = Buffer.from("a\xff", "latin1");
      expect(await read(raw("Content-Length: 2\r\n", broken))).to.eql({ text: "a\ufffd" });
    });

    it("returns an empty string for a missing or empty body", async () => {
      await using server = await serveAll(stack, [], echo);
      expect(await (await fetch(server.url)).json()).to.eql({ text: "" });
      expect(await (await fetch(server.url, { method: "POST", body: "" })).json()).to.eql({ text: "" });
    });

    it("LIM-2 rejects a Content-Length over the limit before reading, and accepts one at the limit", async () => {
      const { watch, fault } = watching();
      await using server = await serveAll(stack, [], watch);
      const fits = await rawRequest(server.port, raw("Content-Length: 20\r\n", "x".repeat(20)));
      expect([fits.status, fits.body]).to.eql([200, `{"text":"${"x".repeat(20)}"}`]);
      const { status, headers, body } = await rawRequest(server.port, raw("Content-Length: 21\r\n"), {
        idleMs: 50,
      });
      expect([status, headers["content-type"]]).to.eql([413, "application/problem+json"]);
      expect(JSON.parse(body)).to.include({ status: 413, detail: "the body is larger than 20 bytes" });
      expect(await fault).to.deep.include({
        code: "ERR_SVC_BODY_TOO_LARGE",
        headers: { Connection: "close" },
      });
    });

    it("LIM-3 counts a chunked body as it arrives, and rejects it when it exceeds the limit", async () => {
      await using server = await serveAll(stack, [], echo);
      const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
      const chunk = `a\r\n${"x".repeat(10)}\r\n`;
      const end = "0\r\n\r\n";
      const fits = raw("Transfer-Encoding: chunked\r\n", chunk + chunk + end);
      expect((await rawRequest(server.port, fits)).status).to.equal(200);
      const long = await rawRequest(server.port, `${head}${chunk}${chunk}1\r\nx\r\n${end}`);
      expect([long.status, long.headers["connection"]]).to.eql([413, "close"]);
      expect(JSON.parse(long.body)).to.include({ detail: "the body is larger than 20 bytes" });
    });

    it("rejects when the client disconnects, even before the body is read", async () => {
      for (const early of [false, true]) {
        const { watch, fault } = watching();
        const late: Middleware = (req, _res, next) => {
          if (early) req.once("close", () => setImmediate(next));
          else next();
        };
        await using server = await serveAll(stack, [late], watch);
        const socket = connect(server.port, "127.0.0.1");
        socket.write(raw("Content-Length: 10\r\n", "abc"));
        await once(server.server, "request");
        socket.destroy();
        expect(await fault).to.include({
          status: 400,
          code: "ERR_SVC_BODY_INCOMPLETE",
          detail: "the request ended before its body was complete",
        });
      }
    });

    it("returns an empty string immediately when other code has read the body to its end", async () => {
      const reader: Middleware = (req, _res, next) => {
        req.resume();
        req.once("end", () => setImmediate(next));
      };
      await using server = await serveAll(stack, [reader], echo);
      for (const body of ["short", "longer than the limit of this server"]) {
        const answer = await fetch(server.url, { method: "POST", body });
        expect(await answer.json()).to.eql({ text: "" });
      }
    });

    it("COR-4 continues in its request's context", async () => {
      const enter: Middleware = (req, res, next) => {
        openContext(req).requestId = "the-request";
        enterContext(req, res, next);
      };
      await using server = await serveAll(stack, [enter], (req, res, next) => {
        readText(req, { maxBytes: 20 })
          .then((text) => sendJson(req, res, 200, { text, id: currentContext()?.requestId }))
          .catch(next);
      });
      const answer = await fetch(server.url, { method: "POST", body: "a" });
      expect(await answer.json()).to.eql({ text: "a", id: "the-request" });
    });
  });
}

describe("readText options", () => {
  const wrong: readonly (readonly [object | undefined, string])[] = [
    [undefined, "maxBytes"],
    [{}, "maxBytes"],
    [{ maxBytes: 0 }, "at least 1"],
    [{ maxBytes: Infinity }, "maxBytes"],
    [{ maxBytes: 5, encoding: "latin1" }, "encoding: is unknown"],
  ];
  for (const [options, message] of wrong) {
    it(`rejects ${inspect(options)}`, async () => {
      await using server = await serveAll("bare http", [], (req, res) => {
        void rejection(() => readText(req, options as never)).then(({ name, message: text }) =>
          sendJson(req, res, 200, { name, text }),
        );
      });
      const { name, text } = (await (await fetch(server.url)).json()) as { name: string; text: string };
      expect([name, text.includes(message)], text).to.eql(["ConfigurationError", true]);
    });
  }
});
