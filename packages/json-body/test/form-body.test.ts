import { connect } from "node:net";
import zlib from "node:zlib";
import { type Middleware, openContext, currentContext, enterContext } from "@svc/context";
import { formBody, jsonBody } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { problemHandler } from "@svc/problem";
import { expect } from "chai";
import express4 from "express4";
import { type Answer, post, serveAll, stacks } from "./support/stacks.ts";

const FORM = "application/x-www-form-urlencoded";
const FORM_TYPE = { "Content-Type": FORM };

/** Sends bytes as a form; fetch() would encode a string as UTF-8. */
const send = (url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
  post(url, Buffer.from(body) as Buffer<ArrayBuffer>, { ...FORM_TYPE, ...headers });

/** A form with a number of fields that have different names. */
const fields = (count: number): string => Array.from({ length: count }, (_, at) => `f${at}=${at}`).join("&");

describe("formBody", () => {
  it("rejects unknown and invalid options", () => {
    expect(() => formBody({ maxByte: 5 } as never)).to.throw(ConfigurationError, "did you mean maxBytes?");
    expect(() => formBody({ maxBytes: 0 })).to.throw(ConfigurationError, "at least 1");
    expect(() => formBody({ maxFields: 0 })).to.throw(ConfigurationError, "at least 1");
    expect(() => formBody({ inflate: 1 as never })).to.throw(ConfigurationError, "true or false");
  });
});

for (const stack of stacks) {
  describe(`formBody on ${stack}`, () => {
    const serve = (options?: Parameters<typeof formBody>[0]) => serveAll(stack, [formBody(options)]);

    it("parses names and values, in any letter case of the type and with charset utf-8", async () => {
      await using server = await serve();
      const body = "name=Ada+L%C3%B6&empty=&bare&=nameless&a%26b=1%3D2&f%5Bx%5D=nested&plain=x=y";
      for (const type of [FORM, "Application/X-WWW-form-urlencoded; charset=UTF-8", `${FORM};charset="utf8"`])
        expect((await send(server.url, body, { "Content-Type": type })).body.body, type).to.deep.equal({
          name: "Ada Lö",
          empty: "",
          bare: "",
          "": "nameless",
          "a&b": "1=2",
          "f[x]": "nested",
          plain: "x=y",
        });
    });

    it("collects the values of a repeated name in a list, in order", async () => {
      await using server = await serve();
      const { body } = await send(server.url, "tag=a&&other=1&tag=b&tag=a&");
      expect(body.body).to.deep.equal({ tag: ["a", "b", "a"], other: "1" });
    });

    it("returns an empty object for a form without fields", async () => {
      await using server = await serve();
      const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\n`;
      for (const rest of ["Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]) {
        const { body } = await rawRequest(server.port, head + rest);
        expect(JSON.parse(body)).to.deep.equal({ parsed: true, body: {} });
      }
      expect((await send(server.url, "&&&")).body.body).to.deep.equal({});
    });

    it("ignores other types and requests without a body", async () => {
      await using server = await serve();
      for (const type of [
        "text/plain",
        "multipart/form-data; boundary=b",
        "application/json",
        `${FORM}x`,
        "",
      ])
        expect((await post(server.url, "a=1", { "Content-Type": type })).body, type).to.include({
          parsed: false,
        });
      expect(await (await fetch(server.url)).json()).to.deep.equal({ parsed: false });
    });

    it("ignores a form that other code has parsed or read", async () => {
      const parsed: Middleware = (req, _res, next) => {
        Object.assign(req, { _body: true, body: "own" });
        next();
      };
      await using own = await serveAll(stack, [parsed, formBody()]);
      expect((await send(own.url, "a=1")).body.body).to.equal("own");
      const read: Middleware = (req, _res, next) => void req.once("end", next).resume();
      await using drained = await serveAll(stack, [read, formBody()]);
      expect((await send(drained.url, "a=1")).body).to.deep.equal({ parsed: false });
    });

    it("LIM-1 LIM-2 rejects a form one byte over the limit by its Content-Length, without reading it", async () => {
      await using server = await serve({ maxBytes: 10 });
      expect((await send(server.url, "a=12345678")).body.body).to.deep.equal({ a: "12345678" });
      const { status, body, headers } = await send(server.url, "a=123456789");
      expect(status).to.equal(413);
      expect(body).to.include({ detail: "the body is larger than 10 bytes" });
      expect(headers.get("connection")).to.equal("close");
      const unsent = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nContent-Length: 99999999\r\n\r\n`;
      expect((await rawRequest(server.port, unsent)).status).to.equal(413);
    });

    it("LIM-1 accepts at most 2 MiB by default", async () => {
      await using server = await serve();
      const fits = `a=${"x".repeat(2 * 1024 * 1024 - 2)}`;
      expect((await send(server.url, fits)).status).to.equal(200);
      expect((await send(server.url, `${fits}x`)).status).to.equal(413);
    });

    it("LIM-3 counts a chunked form as it arrives, and rejects it when it exceeds the limit", async () => {
      await using server = await serve({ maxBytes: 100 });
      const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const chunk = `32\r\n${"a".repeat(50)}\r\n`;
      expect((await rawRequest(server.port, head + chunk.repeat(3))).status).to.equal(413);
      expect((await rawRequest(server.port, `${head}${chunk.repeat(2)}0\r\n\r\n`)).status).to.equal(200);
    });

    it("LIM-1 rejects a form with more than 1000 fields, and keeps the connection", async () => {
      await using server = await serve();
      const fits = (await send(server.url, fields(1_000))).body.body as object;
      expect(Object.keys(fits)).to.have.lengthOf(1_000);
      for (const form of [fields(1_001), "a&".repeat(1_001), "a=1&".repeat(1_001)]) {
        const { status, body, headers } = await send(server.url, form);
        expect([status, body.detail]).to.deep.equal([413, "the form has more than 1000 fields"]);
        expect(headers.get("connection")).to.equal("keep-alive");
      }
    });

    it("limits the number of fields to maxFields", async () => {
      await using server = await serve({ maxFields: 2 });
      expect((await send(server.url, "a=1&b=2&&&")).status).to.equal(200);
      expect((await send(server.url, "a=1&b=2&c")).status).to.equal(413);
    });

    it("rejects a field __proto__, in any encoding, with 400", async () => {
      await using server = await serve();
      for (const form of [
        "__proto__=x",
        "a=1&__proto__",
        "%5F_proto_%5f=1&__proto__=2",
        "__proto__=1&__proto__=2",
      ]) {
        const { status, body } = await send(server.url, form);
        expect([status, body.detail], form).to.deep.equal([
          400,
          "the form has a field that is not allowed: __proto__",
        ]);
      }
      expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
    });

    it("accepts fields with the names of inherited members, such as toString", async () => {
      let prototype: unknown = "none";
      const look: Middleware = (req, _res, next) => {
        prototype = Object.getPrototypeOf((req as { body?: object }).body);
        next();
      };
      await using server = await serveAll(stack, [formBody(), look]);
      const form = "constructor=a&hasOwnProperty=b&toString=c&constructor[prototype][x]=d&__proto__[y]=e";
      expect((await send(server.url, form)).body.body).to.deep.equal({
        constructor: "a",
        hasOwnProperty: "b",
        toString: "c",
        "constructor[prototype][x]": "d",
        "__proto__[y]": "e",
      });
      expect(prototype).to.equal(null);
    });

    it("rejects invalid percent escapes with 400, without quoting them", async () => {
      await using server = await serve();
      for (const form of [
        "ok=1&a=%",
        "ok=1&a=%4",
        "ok=1&%zz=1",
        "ok=1&a=%FF",
        "ok=1&a=%C3%28",
        "ok=1&a=%ED%A0%80",
      ]) {
        const { status, body } = await send(server.url, form);
        expect([status, body.detail], form).to.deep.equal([
          400,
          "field 2 of the form is not validly percent-encoded in UTF-8",
        ]);
      }
    });

    it("rejects bytes that are not UTF-8 with 400", async () => {
      await using server = await serve();
      const { status, body } = await send(server.url, Buffer.from("a=\xe9", "latin1"));
      expect([status, body.detail]).to.deep.equal([400, "the body is not valid UTF-8"]);
    });

    it("keeps NUL and other control characters", async () => {
      await using server = await serve();
      expect((await send(server.url, "a%00=%00%0D%0A")).body.body).to.deep.equal({ "a\0": "\0\r\n" });
    });

    it("ERR-18 rejects another charset with 415", async () => {
      await using server = await serve();
      for (const charset of ["iso-8859-1", '"UTF-16"', ""]) {
        const { status, body } = await send(server.url, "a=1", {
          "Content-Type": `${FORM}; charset=${charset}`,
        });
        expect([status, body.detail], charset).to.deep.equal([415, "the charset of a form must be utf-8"]);
      }
    });

    it("ERR-18 inflates forms, and rejects unknown encodings with 415 and invalid gzip with 400", async () => {
      await using server = await serve();
      const encoded: Record<string, Buffer> = {
        gzip: zlib.gzipSync("a=1"),
        deflate: zlib.deflateSync("a=1"),
        br: zlib.brotliCompressSync("a=1"),
      };
      for (const [name, bytes] of Object.entries(encoded))
        expect((await send(server.url, bytes, { "Content-Encoding": name })).body.body).to.deep.equal({
          a: "1",
        });
      const unknown = await send(server.url, "a=1", { "Content-Encoding": "lzma" });
      expect(unknown.status).to.equal(415);
      expect(unknown.headers.get("accept-encoding")).to.contain("gzip");
      expect((await send(server.url, "a=1", { "Content-Encoding": "gzip" })).status).to.equal(400);
      await using plain = await serve({ inflate: false });
      const { status, headers } = await send(plain.url, zlib.gzipSync("a=1"), { "Content-Encoding": "gzip" });
      expect([status, headers.get("accept-encoding")]).to.deep.equal([415, "identity"]);
    });

    it("LIM-1 stops inflating a form at the limit", async () => {
      await using server = await serve({ maxBytes: 100_000 });
      const bomb = zlib.gzipSync(Buffer.alloc(50 * 1024 * 1024, "a"));
      expect(bomb.length).to.be.below(100_000);
      expect((await send(server.url, bomb, { "Content-Encoding": "gzip" })).status).to.equal(413);
    });

    it("keeps the context of the request for later middleware", async () => {
      let found = false;
      const enter: Middleware = (req, res, next) => {
        openContext(req);
        enterContext(req, res, next);
      };
      const look: Middleware = (req, _res, next) => {
        found = currentContext() === openContext(req);
        next();
      };
      await using server = await serveAll(stack, [enter, formBody(), look]);
      await send(server.url, "a=1");
      expect(found).to.equal(true);
    });

    it("passes a 400 to next() if the client disconnects before the end of the form", async () => {
      const fault = await new Promise<unknown>((resolve, reject) => {
        const seen: Middleware = (req, res) => formBody()(req, res, resolve);
        serveAll(stack, [seen]).then((server) => {
          const client = connect(server.port, "127.0.0.1");
          client.end(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\nContent-Length: 9\r\n\r\na=1`);
          client.on("close", () => void server[Symbol.asyncDispose]());
          client.resume();
        }, reject);
      });
      expect(fault).to.include({ status: 400, code: "ERR_SVC_BODY_INCOMPLETE" });
    });
  });
}

describe("formBody with jsonBody", () => {
  for (const [name, express] of Object.entries(expressMajors)) {
    it(`ERR-18 lists the form type in the Accept header of a 415 for a multipart form on ${name}`, async () => {
      const app = express();
      app.use(formBody(), jsonBody({ otherTypes: "refuse" }));
      app.post("/", (req, res) => void res.json(req.body));
      app.use(problemHandler());
      await using server = await listen(app);
      const multipart = await post(server.url, "--b--", {
        "Content-Type": "multipart/form-data; boundary=b",
      });
      expect(multipart.status).to.equal(415);
      expect(multipart.headers.get("accept")).to.equal(`application/json, application/*+json, ${FORM}`);
      expect((await send(server.url, "a=1")).body).to.deep.equal({ a: "1" });
      expect((await post(server.url, '{"a":1}')).body).to.deep.equal({ a: 1 });
    });

    it(`parses a form in a route behind jsonBody on ${name}`, async () => {
      const app = express();
      app.use(jsonBody({ otherTypes: "refuse" }));
      app.post("/form", formBody(), (req, res) => void res.json(req.body));
      app.post("/json", (req, res) => void res.json(req.body));
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await send(`${server.url}/form`, "a=1")).body).to.deep.equal({ a: "1" });
      const refused = await send(`${server.url}/json`, "a=1");
      expect([refused.status, refused.headers.get("accept")]).to.deep.equal([
        415,
        "application/json, application/*+json",
      ]);
    });
  }

  it("makes express.urlencoded() of Express 4 ignore the form", async () => {
    const app = express4();
    app.use(formBody(), express4.urlencoded({ extended: true }));
    app.post("/", (req, res) => void res.json(req.body));
    await using server = await listen(app);
    expect((await send(server.url, "a[b]=1")).body).to.deep.equal({ "a[b]": "1" });
  });
});
