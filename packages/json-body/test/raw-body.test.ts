import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import zlib from "node:zlib";
import { currentContext, enterContext, guardOf, type Middleware, openContext } from "@svc/context";
import { bodyOf, formBody, jsonBody, rawBody, textBody } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { attachProblems, problemHandler, problemServerOptions, sendJson } from "@svc/problem";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Request, Response } from "express";
import { post, serveAll, stacks } from "./support/stacks.ts";

/** Responds with the bytes in hexadecimal digits; null if the body is not a Buffer. */
const echo: Middleware = (req, res) => {
  const body = bodyOf(req);
  sendJson(req, res, 200, { hex: Buffer.isBuffer(body) ? body.toString("hex") : null });
};

const hex = (bytes: string | Buffer): { readonly hex: string } => ({
  hex: Buffer.from(bytes).toString("hex"),
});

/** Returns the bytes of a complete request, after which the connection may stay open. */
function raw(headers: string, body: string | Buffer = ""): Buffer {
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
}

const json = { "Content-Type": "application/json" };

/** Stores the first error that a middleware passes to `next()`. */
function watching(inner: Middleware): { readonly watch: Middleware; readonly fault: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const watch: Middleware = (req, res, next) =>
    inner(req, res, (error) => {
      resolve(error);
      next(error);
    });
  return { watch, fault: promise };
}

describe("rawBody", () => {
  it("rejects unknown and invalid options", () => {
    expect(() => rawBody({ type: "application/json" } as never)).to.throw(
      ConfigurationError,
      "did you mean types?",
    );
    for (const maxBytes of [0, 1.5, Infinity, "100kb", null])
      expect(() => rawBody({ maxBytes } as never), String(maxBytes)).to.throw(
        ConfigurationError,
        "maxBytes: must be a whole number of at least 1",
      );
    for (const types of [
      "application/json",
      [],
      ["JSON"],
      ["Text/Plain"],
      ["text/plain; charset=utf-8"],
      [1],
      {},
    ])
      expect(() => rawBody({ types } as never), JSON.stringify(types)).to.throw(
        ConfigurationError,
        "types: must be a list of at least one media type in lower case",
      );
    expect(() => rawBody({ compressed: "inflate" } as never)).to.throw(
      ConfigurationError,
      "compressed: must be one of",
    );
    expect(() => rawBody("/hooks" as never)).to.throw(ConfigurationError);
  });

  it("exposes its accepted types for API descriptions, and nothing without `types`", () => {
    expect(guardOf(rawBody({ types: ["application/json"] }))).to.deep.equal({
      kind: "content-type",
      values: ["application/json"],
    });
    expect(guardOf(rawBody())).to.equal(undefined);
  });
});

for (const stack of stacks) {
  describe(`rawBody on ${stack}`, () => {
    it("returns the bytes as sent, of any type", async () => {
      await using server = await serveAll(stack, [rawBody()], echo);
      const bodies = [
        '\ufeff{ "a" :1 }\r\n',
        "a=%41&a",
        Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0a]),
        "not json",
      ];
      for (const body of bodies)
        for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", "x", ""]) {
          const bytes = Buffer.from(body) as Buffer<ArrayBuffer>;
          expect((await post(server.url, bytes, { "Content-Type": type })).body).to.deep.equal(hex(bytes));
        }
    });

    it("joins chunks, without their framing", async () => {
      await using server = await serveAll(stack, [rawBody()], echo);
      const bytes = raw("Transfer-Encoding: chunked\r\n", '1\r\n{\r\n3\r\n"a"\r\n3\r\n:1}\r\n0\r\n\r\n');
      expect(JSON.parse((await rawRequest(server.port, bytes)).body)).to.deep.equal(hex('{"a":1}'));
    });

    it("returns an empty Buffer without a body, so that a handler can always verify it", async () => {
      await using server = await serveAll(
        stack,
        [rawBody({ types: ["application/json"] }), jsonBody()],
        echo,
      );
      expect(await (await fetch(server.url)).json()).to.deep.equal({ hex: "" });
      for (const bytes of [raw("Content-Length: 0\r\n"), raw("Transfer-Encoding: chunked\r\n", "0\r\n\r\n")])
        expect(JSON.parse((await rawRequest(server.port, bytes)).body)).to.deep.equal({ hex: "" });
    });

    it("LIM-1 LIM-2 rejects a Content-Length one byte over the limit without reading the body", async () => {
      for (const compressed of ["refuse", "pass"] as const) {
        await using server = await serveAll(stack, [rawBody({ maxBytes: 10, compressed })], echo);
        expect((await post(server.url, "x".repeat(10), json)).status).to.equal(200);
        const { status, headers, body } = await post(server.url, "x".repeat(11), json);
        expect([status, headers.get("connection")]).to.deep.equal([413, "close"]);
        expect(body).to.include({ status: 413, detail: "the body is larger than 10 bytes" });
        expect((await rawRequest(server.port, raw("Content-Length: 11\r\n"))).status).to.equal(413);
      }
    });

    it("LIM-1 accepts at most 2 MiB by default", async () => {
      await using server = await serveAll(stack, [rawBody()], (req, res) =>
        sendJson(req, res, 200, { length: (bodyOf(req) as Buffer).length }),
      );
      const fits = "x".repeat(2 * 1024 * 1024);
      expect((await post(server.url, fits)).body).to.deep.equal({ length: fits.length });
      expect((await post(server.url, `${fits}x`)).status).to.equal(413);
    });

    it("LIM-3 counts a chunked body as it arrives, and rejects it when it exceeds the limit", async () => {
      await using server = await serveAll(stack, [rawBody({ maxBytes: 100 })], echo);
      const chunk = `32\r\n${"x".repeat(50)}\r\n`;
      const head = "Transfer-Encoding: chunked\r\n";
      const { status, headers } = await rawRequest(server.port, raw(head, chunk.repeat(3)));
      expect([status, headers["connection"]]).to.deep.equal([413, "close"]);
      expect((await rawRequest(server.port, raw(head, `${chunk}${chunk}0\r\n\r\n`))).status).to.equal(200);
    });

    it("ERR-18 rejects a body of a type that is not in the list, with 415", async () => {
      const types = ["application/json", "application/*+json", "image/*"];
      await using server = await serveAll(stack, [rawBody({ types })], echo);
      for (const type of [
        "application/json; charset=latin1",
        "Application/JSON",
        "application/vnd.a+json",
        "image/png",
      ])
        expect((await post(server.url, "a", { "Content-Type": type })).body, type).to.deep.equal(hex("a"));
      for (const type of ["text/plain", "application/+json", "image/", ""]) {
        const { status, headers, body } = await post(server.url, "a", { "Content-Type": type });
        expect([status, headers.get("accept"), body.detail], type).to.deep.equal([
          415,
          types.join(", "),
          `the content type must be one of: ${types.join(", ")}`,
        ]);
      }
    });

    it("ERR-18 rejects a compressed body by default, because a signature covers the bytes as sent", async () => {
      await using server = await serveAll(stack, [rawBody()], echo);
      for (const encoding of ["gzip", "br", "unknown", "gzip, br"]) {
        const { status, headers, body } = await post(server.url, zlib.gzipSync("{}") as Buffer<ArrayBuffer>, {
          ...json,
          "Content-Encoding": encoding,
        });
        expect([status, headers.get("accept-encoding"), body.detail], encoding).to.deep.equal([
          415,
          "identity",
          "the content encoding must be one of: identity",
        ]);
      }
      const identity = { ...json, "Content-Encoding": "identity" };
      expect((await post(server.url, "{}", identity)).body).to.deep.equal(hex("{}"));
    });

    it('returns compressed bytes as sent with compressed: "pass"', async () => {
      await using server = await serveAll(stack, [rawBody({ compressed: "pass" })], echo);
      const packed = zlib.gzipSync("{}") as Buffer<ArrayBuffer>;
      for (const encoding of ["gzip", "unknown"])
        expect(
          (await post(server.url, packed, { ...json, "Content-Encoding": encoding })).body,
        ).to.deep.equal(hex(packed));
    });

    it("prevents later parsers from reading the body again", async () => {
      const behind = [rawBody(), jsonBody(), formBody(), textBody(), rawBody()];
      await using server = await serveAll(stack, behind, echo);
      for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain"])
        expect((await post(server.url, "{", { "Content-Type": type })).body, type).to.deep.equal(hex("{"));
    });

    it("applies its own limits to a Buffer that an earlier rawBody() has read", async () => {
      const later = rawBody({ types: ["application/json"], maxBytes: 5 });
      await using server = await serveAll(stack, [rawBody({ compressed: "pass" }), later], echo);
      expect((await post(server.url, "12345")).body).to.deep.equal(hex("12345"));
      expect((await post(server.url, "123456")).status).to.equal(413);
      expect((await post(server.url, "1", { "Content-Type": "text/html" })).status).to.equal(415);
      expect((await post(server.url, "1", { ...json, "Content-Encoding": "gzip" })).status).to.equal(415);
    });

    it("sets an empty Buffer for a request without a body that earlier code has read to its end", async () => {
      const drain: Middleware = (req, _res, next) => void req.once("end", next).resume();
      await using server = await serveAll(stack, [drain, rawBody()], echo);
      expect((await post(server.url, undefined)).body).to.deep.equal(hex(""));
    });

    it("responds with 500 after a parser that has read the body, because the bytes are no longer available", async () => {
      for (const [parser, type] of [
        [jsonBody(), "application/json"],
        [formBody(), "application/x-www-form-urlencoded"],
        [textBody(), "text/plain"],
        [((req, _res, next) => void req.once("end", next).resume()) satisfies Middleware, "x/y"],
      ] as const) {
        const { watch, fault } = watching(rawBody());
        await using server = await serveAll(stack, [parser, watch], echo);
        const { status, body } = await post(server.url, "{}", { "Content-Type": type });
        expect([type, status, body.detail]).to.deep.equal([type, 500, "An unexpected error occurred"]);
        expect(await fault).to.include({ code: "ERR_SVC_BODY_ALREADY_READ" });
        expect(((await fault) as Error).cause).to.include({
          message: "rawBody() must be mounted before other body parsers",
        });
      }
    });

    it("responds with 500 when earlier code has read an empty chunked body to its end", async () => {
      const drain: Middleware = (req, _res, next) => void req.once("end", () => setImmediate(next)).resume();
      const { watch, fault } = watching(rawBody());
      await using server = await serveAll(stack, [drain, watch], echo);
      const answer = await rawRequest(server.port, raw("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"));
      expect(answer.status).to.equal(500);
      expect(await fault).to.include({ code: "ERR_SVC_BODY_ALREADY_READ" });
    });

    it("passes a 400 to next(), and no partial body, if the client disconnects before the end of the body", async () => {
      const { promise, resolve } = Promise.withResolvers<readonly [unknown, unknown]>();
      const reader = rawBody();
      const watch: Middleware = (req, res, next) =>
        reader(req, res, (error) => {
          resolve([error, bodyOf(req)]);
          next(error);
        });
      await using server = await serveAll(stack, [watch], echo);
      const client = connect(server.port, "127.0.0.1");
      client.write(raw("Content-Length: 9\r\n", "{"));
      await once(server.server, "request");
      client.destroy();
      const [fault, body] = await promise;
      expect(fault).to.include({ status: 400, code: "ERR_SVC_BODY_INCOMPLETE" });
      expect(body).to.equal(undefined);
    });

    it("COR-4 runs later middleware in the request's context, and in other libraries' contexts", async () => {
      const foreign = new AsyncLocalStorage<string>();
      const enter: Middleware = (req, res, next) => {
        openContext(req).requestId = "the-request";
        enterContext(req, res, next);
      };
      const other: Middleware = (_req, _res, next) => foreign.run("theirs", next);
      await using server = await serveAll(stack, [enter, other, rawBody()], (req, res) => {
        sendJson(req, res, 200, { body: [currentContext()?.requestId, foreign.getStore()] });
      });
      expect((await post(server.url, "{}")).body.body).to.deep.equal(["the-request", "theirs"]);
    });
  });
}

for (const [major, express] of Object.entries(expressMajors)) {
  describe(`rawBody with other parsers on ${major}`, () => {
    const answer = (req: Request, res: Response): void => {
      res.json(Buffer.isBuffer(req.body) ? hex(req.body) : { got: req.body as unknown });
    };

    it("reads the bodies of its route or prefix only", async () => {
      const app = express();
      app.post("/hook", rawBody(), answer);
      app.use("/hooks", rawBody());
      app.use(jsonBody({ otherTypes: "refuse" }), express.json());
      app.post(["/hooks/a", "/orders"], answer);
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await post(`${server.url}/hook`, '{"a":1}')).body).to.deep.equal(hex('{"a":1}'));
      expect((await post(`${server.url}/hooks/a`, '{"a":1}')).body).to.deep.equal(hex('{"a":1}'));
      expect((await post(`${server.url}/orders`, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
    });

    it("reads a body of another type in a route behind jsonBody()", async () => {
      const app = express();
      app.use(jsonBody({ otherTypes: "refuse" }));
      app.post("/form", rawBody({ types: ["text/csv"] }), answer);
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await post(`${server.url}/form`, "a,b", { "Content-Type": "text/csv" })).body).to.deep.equal(
        hex("a,b"),
      );
      expect((await post(`${server.url}/form`, "{}")).status).to.equal(500);
    });

    it("keeps the Buffer of express.raw()", async () => {
      const app = express();
      app.use(express.raw({ type: "*/*" }), rawBody());
      app.post("/", answer);
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await post(server.url, '{"a":1}')).body).to.deep.equal(hex('{"a":1}'));
    });
  });
}

describe("rawBody with attachProblems", () => {
  it("ERR-21 responds with one 408 problem when the body does not arrive", async () => {
    const reader = rawBody();
    const onError = problemHandler();
    const times = { requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 };
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const server = createServer({ ...problemServerOptions, ...times }, (req, res) => {
      reader(req, res, (error) => {
        onError(error, req, res, () => undefined);
        resolve(error);
      });
    });
    attachProblems(server);
    await using listening = await listen(server);
    const { text, status } = await rawRequest(listening.port, raw("Content-Length: 10\r\n", "{"));
    expect(status).to.equal(408);
    expect(text.match(/HTTP\/1\.1/g)).to.have.lengthOf(1);
    expect(await promise).to.include({ code: "ERR_SVC_BODY_INCOMPLETE" });
  });
});
