import { once } from "node:events";
import { connect } from "node:net";
import zlib from "node:zlib";
import { currentContext, enterContext, type Middleware, openContext } from "@svc/context";
import { formBody, jsonBody, textBody, type TextBodyOptions } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { problemHandler, sendJson } from "@svc/problem";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { type Answer, post, serveAll, stacks } from "./support/stacks.ts";

const send = (url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
  post(url, Buffer.from(body) as Buffer<ArrayBuffer>, { "Content-Type": "text/plain", ...headers });

const CHUNKED =
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";

describe("textBody", () => {
  it("rejects unknown and invalid options", () => {
    expect(() => textBody({ maxByte: 5 } as never)).to.throw(ConfigurationError, "did you mean maxBytes?");
    expect(() => textBody({ maxBytes: "1mb" as never })).to.throw(ConfigurationError, "at least 1");
    expect(() => textBody({ inflate: 1 as never })).to.throw(ConfigurationError, "true or false");
    for (const types of ["text/plain", [], ["text"], [undefined]])
      expect(() => textBody({ types } as never), JSON.stringify(types)).to.throw(
        ConfigurationError,
        "types: must be a list of at least one media type in lower case",
      );
  });
});

for (const stack of stacks) {
  describe(`textBody on ${stack}`, () => {
    const serve = (options?: TextBodyOptions) => serveAll(stack, [textBody(options)]);

    it("reads text/plain as UTF-8, in any letter case of the type and without a byte order mark", async () => {
      await using server = await serve();
      for (const type of ["text/plain", "Text/PLAIN; charset=UTF-8", 'text/plain;charset="utf8"; x=y'])
        expect((await send(server.url, "\ufeffé\r\n", { "Content-Type": type })).body, type).to.deep.equal({
          parsed: true,
          body: "é\r\n",
        });
    });

    it("joins a character that arrives in two chunks", async () => {
      await using server = await serve();
      const bytes = Buffer.from(`${CHUNKED}1\r\n\xc3\r\n2\r\n\xa9!\r\n0\r\n\r\n`, "latin1");
      const { body } = await rawRequest(server.port, bytes);
      expect(JSON.parse(Buffer.from(body, "latin1").toString())).to.deep.equal({ parsed: true, body: "é!" });
    });

    it("returns an empty string for an empty text", async () => {
      await using server = await serve();
      const sized = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n";
      for (const bytes of [sized, `${CHUNKED}0\r\n\r\n`])
        expect(JSON.parse((await rawRequest(server.port, bytes)).body)).to.deep.equal({
          parsed: true,
          body: "",
        });
    });

    it("reads the types of the list, and ignores other types and requests without a body", async () => {
      await using server = await serve({ types: ["text/csv", "application/*+xml"] });
      for (const type of ["text/csv", "application/atom+xml"])
        expect((await send(server.url, "a", { "Content-Type": type })).body.body, type).to.equal("a");
      for (const type of ["text/plain", "text/csvx", "application/xml", ""])
        expect((await send(server.url, "a", { "Content-Type": type })).body, type).to.deep.equal({
          parsed: false,
        });
      expect(await (await fetch(server.url)).json()).to.deep.equal({ parsed: false });
    });

    it("ignores a text that other code has parsed or read", async () => {
      const parsed: Middleware = (req, _res, next) => {
        Object.assign(req, { _body: true, body: "own" });
        next();
      };
      await using own = await serveAll(stack, [parsed, textBody()]);
      expect((await send(own.url, "a")).body.body).to.equal("own");
      const read: Middleware = (req, _res, next) => void req.once("end", next).resume();
      await using drained = await serveAll(stack, [read, textBody()]);
      expect((await send(drained.url, "a")).body).to.deep.equal({ parsed: false });
    });

    it("LIM-1 LIM-2 rejects a text one byte over the limit by its Content-Length", async () => {
      await using server = await serve({ maxBytes: 3 });
      expect((await send(server.url, "abc")).status).to.equal(200);
      const { status, headers, body } = await send(server.url, "abcd");
      expect([status, headers.get("connection"), body.detail]).to.deep.equal([
        413,
        "close",
        "the body is larger than 3 bytes",
      ]);
    });

    it("LIM-1 accepts at most 2 MiB by default", async () => {
      await using server = await serve();
      const fits = "x".repeat(2 * 1024 * 1024);
      expect((await send(server.url, fits)).status).to.equal(200);
      expect((await send(server.url, `${fits}x`)).status).to.equal(413);
    });

    it("LIM-3 counts a chunked text as it arrives, and rejects it when it exceeds the limit", async () => {
      await using server = await serve({ maxBytes: 100 });
      const chunk = `32\r\n${"a".repeat(50)}\r\n`;
      expect((await rawRequest(server.port, CHUNKED + chunk.repeat(3))).status).to.equal(413);
      expect((await rawRequest(server.port, `${CHUNKED}${chunk.repeat(2)}0\r\n\r\n`)).status).to.equal(200);
    });

    it("ERR-18 rejects another charset with 415, and bytes that are not UTF-8 with 400", async () => {
      await using server = await serve();
      for (const charset of ["latin1", '"UTF-16"', ""]) {
        const { status, body } = await send(server.url, "a", {
          "Content-Type": `text/plain; charset=${charset}`,
        });
        expect([status, body.detail], charset).to.deep.equal([415, "the charset of a text must be utf-8"]);
      }
      const { status, body } = await send(server.url, Buffer.from([0x61, 0xff]));
      expect([status, body.detail]).to.deep.equal([400, "the body is not valid UTF-8"]);
    });

    it("ERR-18 LIM-1 inflates texts up to the limit, and rejects unknown encodings with 415", async () => {
      await using server = await serve({ maxBytes: 1_000 });
      const gzip = { "Content-Encoding": "gzip" };
      expect((await send(server.url, zlib.gzipSync("é"), gzip)).body.body).to.equal("é");
      expect((await send(server.url, zlib.gzipSync("x".repeat(1_001)), gzip)).status).to.equal(413);
      expect((await send(server.url, "not gzip", gzip)).status).to.equal(400);
      const unknown = await send(server.url, "a", { "Content-Encoding": "lzma" });
      expect([unknown.status, unknown.headers.get("accept-encoding")]).to.deep.equal([
        415,
        "gzip, deflate, br, zstd",
      ]);
      await using plain = await serve({ inflate: false });
      expect((await send(plain.url, zlib.gzipSync("a"), gzip)).status).to.equal(415);
    });

    it("COR-4 keeps the context of the request for later middleware", async () => {
      const enter: Middleware = (req, res, next) => {
        openContext(req).requestId = "the-request";
        enterContext(req, res, next);
      };
      await using server = await serveAll(stack, [enter, textBody()], (req, res) =>
        sendJson(req, res, 200, { body: currentContext()?.requestId }),
      );
      expect((await send(server.url, "a")).body.body).to.equal("the-request");
    });

    it("passes a 400 to next() if the client disconnects before the end of the text", async () => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      const parser = textBody();
      await using server = await serveAll(stack, [], (req, res, next) =>
        parser(req, res, (error) => {
          resolve(error);
          next(error);
        }),
      );
      const client = connect(server.port, "127.0.0.1");
      client.write(`${CHUNKED}1\r\na\r\n`);
      await once(server.server, "request");
      client.destroy();
      expect(await promise).to.include({ status: 400, code: "ERR_SVC_BODY_INCOMPLETE" });
    });
  });
}

for (const [major, express] of Object.entries(expressMajors)) {
  describe(`textBody with jsonBody on ${major}`, () => {
    it("ERR-18 names its types in the 415 for a body that no parser reads", async () => {
      const app = express();
      app.use(
        textBody({ types: ["text/plain", "text/csv"] }),
        formBody(),
        jsonBody({ otherTypes: "refuse" }),
      );
      app.post("/", (req, res) => void res.json({ got: req.body as unknown }));
      app.use(problemHandler());
      await using server = await listen(app);
      const refused = await send(server.url, "a", { "Content-Type": "image/png" });
      expect([refused.status, refused.headers.get("accept")]).to.deep.equal([
        415,
        "application/json, application/*+json, application/x-www-form-urlencoded, text/plain, text/csv",
      ]);
      expect((await send(server.url, "a")).body).to.deep.equal({ got: "a" });
      expect((await post(server.url, '{"a":1}')).body).to.deep.equal({ got: { a: 1 } });
    });

    it("reads a text in a route behind jsonBody()", async () => {
      const app = express();
      app.use(jsonBody({ otherTypes: "refuse" }));
      app.post("/text", textBody(), (req, res) => void res.json({ got: req.body as unknown }));
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await send(`${server.url}/text`, "a")).body).to.deep.equal({ got: "a" });
      expect((await send(`${server.url}/text`, "a", { "Content-Type": "text/csv" })).status).to.equal(415);
    });

    it("makes express.text() ignore the text", async () => {
      const app = express();
      const read: string[] = [];
      // express.text() calls `verify` with every body that it reads.
      const verify = (_req: unknown, _res: unknown, bytes: Buffer): void => void read.push(String(bytes));
      app.use(textBody(), express.text({ type: ["text/plain", "text/csv"], verify }));
      app.post("/", (req, res) => void res.json({ got: req.body as unknown }));
      await using server = await listen(app);
      expect((await send(server.url, "a")).body).to.deep.equal({ got: "a" });
      expect(read).to.deep.equal([]);
      expect((await send(server.url, "b", { "Content-Type": "text/csv" })).body).to.deep.equal({ got: "b" });
      expect(read).to.deep.equal(["b"]);
    });
  });
}
