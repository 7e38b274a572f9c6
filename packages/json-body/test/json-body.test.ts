import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import zlib from "node:zlib";
import { expect } from "chai";
import { currentContext, enterContext, type Middleware, openContext } from "@svc/context";
import { bodyOf, jsonBody } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { attachProblems, isProblemError, problemHandler, problemServerOptions, sendJson } from "@svc/problem";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { post, type Seen, serve, serveAll, stacks } from "./support/stacks.ts";

const JSON_TYPE = { "Content-Type": "application/json" };

/** Returns the bytes of a complete request, after which the connection may stay open. */
function raw(headers: string, body: string | Buffer = ""): Buffer {
  return Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}\r\n`, "latin1"),
    Buffer.from(body),
  ]);
}

describe("jsonBody", () => {
  it("rejects unknown and invalid options", () => {
    expect(() => jsonBody({ maxByte: 5 } as never)).to.throw(ConfigurationError, "did you mean maxBytes?");
    expect(() => jsonBody({ maxBytes: 0 })).to.throw(ConfigurationError, "at least 1");
    expect(() => jsonBody({ maxDepth: 1_001 })).to.throw(ConfigurationError, "from 1 to 1000");
    expect(() => jsonBody({ inflate: "yes" as never })).to.throw(ConfigurationError, "true or false");
    expect(() => jsonBody({ strict: 1 as never })).to.throw(ConfigurationError, "true or false");
  });
});

for (const stack of stacks) {
  describe(`jsonBody on ${stack}`, () => {
    it("parses application/json and +json types, in any letter case and with charset utf-8", async () => {
      await using server = await serve(stack);
      for (const type of [
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf-8"',
        "application/vnd.api+json",
        "application/json; x=y; charset=utf8",
      ]) {
        const { body } = await post(server.url, '{"a":["é",1,null]}', { "Content-Type": type });
        expect(body, type).to.deep.equal({ parsed: true, body: { a: ["é", 1, null] } });
      }
    });

    it("ignores other types and requests without a body", async () => {
      await using server = await serve(stack);
      for (const type of [
        "text/plain",
        "application/jsonx",
        "application/+json",
        "+json",
        "multipart/form-data",
      ]) {
        expect((await post(server.url, "{}", { "Content-Type": type })).body, type).to.include({
          parsed: false,
        });
      }
      expect((await post(server.url, undefined)).body).to.include({ parsed: false });
      const got = (await (await fetch(server.url, { headers: JSON_TYPE })).json()) as Seen;
      expect(got.parsed).to.equal(false);
    });

    it("leaves req.body undefined for an empty body, with a Content-Length or in chunks", async () => {
      await using server = await serve(stack);
      for (const bytes of [
        raw("Content-Length: 0\r\n"),
        raw("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
      ]) {
        const { status, body } = await rawRequest(server.port, bytes);
        expect([status, body]).to.deep.equal([200, '{"parsed":false}']);
      }
    });

    it("accepts a byte order mark", async () => {
      await using server = await serve(stack);
      expect((await post(server.url, '\ufeff{"a":1}')).body.body).to.deep.equal({ a: 1 });
    });

    it("LIM-1 LIM-2 rejects a Content-Length one byte over the limit without reading the body", async () => {
      await using server = await serve(stack, { maxBytes: 10 });
      expect((await post(server.url, '{"a":1234}')).body.body).to.deep.equal({ a: 1234 });
      const { status, body, headers } = await post(server.url, '{"a":12345}');
      expect(status).to.equal(413);
      expect(body).to.include({ status: 413, detail: "the body is larger than 10 bytes" });
      expect(headers.get("connection")).to.equal("close");
      const unsent = await rawRequest(server.port, raw("Content-Length: 999999999\r\n"));
      expect(unsent.status).to.equal(413);
    });

    it("LIM-1 accepts at most 2 MiB by default", async () => {
      await using server = await serve(stack);
      const fits = JSON.stringify(["x".repeat(2 * 1024 * 1024 - 4)]);
      expect(fits).to.have.lengthOf(2 * 1024 * 1024);
      expect((await post(server.url, fits)).status).to.equal(200);
      expect((await post(server.url, `${fits} `)).status).to.equal(413);
    });

    it("LIM-3 counts a chunked body as it arrives, and rejects it when it exceeds the limit", async () => {
      await using server = await serve(stack, { maxBytes: 100 });
      const chunk = `32\r\n${" ".repeat(50)}\r\n`;
      const endless = raw("Transfer-Encoding: chunked\r\n", chunk.repeat(3));
      const { status, headers, body } = await rawRequest(server.port, endless);
      expect(status).to.equal(413);
      expect(headers["content-type"]).to.equal("application/problem+json");
      expect(headers["connection"]).to.equal("close");
      expect(body).to.contain('"status":413');
      const fitting = raw("Transfer-Encoding: chunked\r\n", `${chunk}2\r\n{}\r\n0\r\n\r\n`);
      expect((await rawRequest(server.port, fitting)).status).to.equal(200);
    });

    it("LIM-1 lets a client that is still sending read the 413", async () => {
      await using server = await serve(stack, { maxBytes: 1_000 });
      const body = Buffer.alloc(8 * 1024 * 1024, 0x20);
      const client = request(server.url, {
        method: "POST",
        headers: { ...JSON_TYPE, "Content-Length": body.length },
      });
      client.end(body);
      const [response] = (await once(client, "response")) as [import("node:http").IncomingMessage];
      expect(response.statusCode).to.equal(413);
      // From here on, the server may close the connection at any time.
      client.on("error", () => undefined);
      const chunks = (await response.toArray()) as Buffer[];
      expect(Buffer.concat(chunks).toString()).to.contain('"status":413');
    });

    it("LIM-3 parses a body that arrives in chunks of one byte", async () => {
      await using server = await serve(stack);
      const text = JSON.stringify({ list: Array.from({ length: 3_000 }, (_, i) => i) });
      const chunks = text.replace(/./g, "1\r\n$&\r\n");
      const bytes = raw("Transfer-Encoding: chunked\r\nConnection: close\r\n", `${chunks}0\r\n\r\n`);
      const { status, body } = await rawRequest(server.port, bytes);
      expect(status).to.equal(200);
      expect(body).to.contain("2998,2999]");
    });

    it("inflates gzip, deflate, br and zstd", async () => {
      await using server = await serve(stack);
      const plain = Buffer.from('{"a":"compressed"}');
      const packed: Record<string, Buffer> = {
        gzip: zlib.gzipSync(plain),
        "X-GZIP": zlib.gzipSync(plain),
        deflate: zlib.deflateSync(plain),
        br: zlib.brotliCompressSync(plain),
        zstd: zlib.zstdCompressSync(plain),
        identity: plain,
      };
      for (const [encoding, bytes] of Object.entries(packed)) {
        const { body } = await post(server.url, new Uint8Array(bytes), {
          ...JSON_TYPE,
          "Content-Encoding": encoding,
        });
        expect(body.body, encoding).to.deep.equal({ a: "compressed" });
      }
    });

    it("LIM-1 stops inflating at the limit: rejects 48 KB that inflate to 50 MB with 413, using little memory", async () => {
      await using server = await serve(stack);
      const bomb = Buffer.alloc(50 * 1024 * 1024, 0x20);
      for (const [encoding, bytes] of [
        ["gzip", zlib.gzipSync(bomb)],
        ["br", zlib.brotliCompressSync(bomb, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })],
        ["zstd", zlib.zstdCompressSync(bomb)],
      ] as const) {
        expect(bytes.length).to.be.lessThan(60_000);
        const before = process.memoryUsage().arrayBuffers;
        const { status } = await post(server.url, new Uint8Array(bytes), {
          ...JSON_TYPE,
          "Content-Encoding": encoding,
        });
        expect([encoding, status]).to.deep.equal([encoding, 413]);
        expect(process.memoryUsage().arrayBuffers - before).to.be.lessThan(20 * 1024 * 1024);
      }
    });

    it("LIM-1 inflates exactly maxBytes, and rejects one more byte", async () => {
      await using server = await serve(stack, { maxBytes: 50 });
      const send = (length: number): ReturnType<typeof post> => {
        const packed = zlib.gzipSync(`{}${" ".repeat(length - 2)}`);
        return post(server.url, new Uint8Array(packed), { ...JSON_TYPE, "Content-Encoding": "gzip" });
      };
      expect((await send(50)).status).to.equal(200);
      expect((await send(51)).status).to.equal(413);
    });

    it("ERR-18 rejects unknown encodings, and all encodings with inflate: false", async () => {
      await using server = await serve(stack);
      await using plain = await serve(stack, { inflate: false });
      const { status, headers, body } = await post(server.url, "{}", {
        ...JSON_TYPE,
        "Content-Encoding": "gzip, br",
      });
      expect(status).to.equal(415);
      expect(headers.get("accept-encoding")).to.equal("gzip, deflate, br, zstd");
      expect(body.detail).to.equal("the content encoding must be one of: gzip, deflate, br, zstd");
      const gzip = { ...JSON_TYPE, "Content-Encoding": "gzip" };
      expect((await post(plain.url, new Uint8Array(zlib.gzipSync("{}")), gzip)).status).to.equal(415);
    });

    it("ERR-19 rejects bytes that do not match the declared encoding, or are incomplete", async () => {
      await using server = await serve(stack);
      const packed = zlib.gzipSync('{"a":"some longer text"}');
      for (const bytes of [Buffer.from("{}"), packed.subarray(0, packed.length - 9)]) {
        const headers = { ...JSON_TYPE, "Content-Encoding": "gzip" };
        const { status, body } = await post(server.url, new Uint8Array(bytes), headers);
        expect(status).to.equal(400);
        expect(body.detail).to.equal("the body does not match its content encoding");
      }
    });

    it("rejects a zstd body that requires a window of more than 8 MiB", async () => {
      await using server = await serve(stack);
      const params = { [zlib.constants.ZSTD_c_windowLog]: 27 };
      const stream = zlib.createZstdCompress({ params });
      stream.end(Buffer.from('{"a":1}'));
      const packed = Buffer.concat((await stream.toArray()) as Buffer[]);
      const headers = { ...JSON_TYPE, "Content-Encoding": "zstd" };
      expect((await post(server.url, new Uint8Array(packed), headers)).status).to.equal(400);
    });

    it("ERR-18 rejects every charset except utf-8", async () => {
      await using server = await serve(stack);
      for (const charset of ["latin1", "utf-16", '""', "'utf-8'"]) {
        const { status, body } = await post(server.url, "{}", {
          "Content-Type": `application/json; charset=${charset}`,
        });
        expect([charset, status, body.detail]).to.deep.equal([
          charset,
          415,
          "the charset of a JSON body must be utf-8",
        ]);
      }
    });

    it("ERR-19 reports the position of the fault in malformed JSON without quoting the body", async () => {
      await using server = await serve(stack);
      const { status, body } = await post(server.url, '{\n "password": hunter2 }');
      expect(status).to.equal(400);
      expect(body.detail).to.equal("the body is not valid JSON at position 15 (line 2, column 14)");
      expect(JSON.stringify(body)).to.not.match(/hunter|token/i);
      expect((await post(server.url, " ")).body.detail).to.contain("position 1 (line 1, column 2)");
    });

    it("ERR-19 rejects bytes that are not UTF-8", async () => {
      await using server = await serve(stack);
      const { status, body } = await post(server.url, new Uint8Array([0x22, 0xff, 0x22]));
      expect([status, body.detail]).to.deep.equal([400, "the body is not valid UTF-8"]);
    });

    it("rejects nesting over the limit with 400, even when JSON.stringify would overflow the stack", async () => {
      await using server = await serve(stack);
      const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
      expect((await post(server.url, nested(100))).status).to.equal(200);
      for (const text of [nested(101), nested(45_000), "[".repeat(45_000), `{"a":`.repeat(45_000)]) {
        const { status, body } = await post(server.url, text);
        expect([status, body.detail]).to.deep.equal([400, "the body nests deeper than 100 levels"]);
      }
    });

    it("does not count brackets inside strings as nesting", async () => {
      await using server = await serve(stack, { maxDepth: 2 });
      const value = { a: ["[[[[{{{{", '\\"[[[[', "\\"] };
      expect((await post(server.url, JSON.stringify(value))).body.body).to.deep.equal(value);
    });

    it("rejects keys that pollute prototypes, even in escaped form", async () => {
      await using server = await serve(stack);
      for (const text of [
        '{"__proto__":{"admin":true}}',
        '[{"a":{"b":[{"__proto__":1}]}}]',
        '{"\\u005f_proto__":1}',
        '{"__pr\\u006Fto__":1}',
        '{"constructor":{"prototype":{"admin":true}}}',
        '{"\\u0063onstructor":{"protot\\u0079pe":{}}}',
      ]) {
        const { status, body } = await post(server.url, text);
        expect([text, status]).to.deep.equal([text, 400]);
        expect(body.detail).to.match(/^the body has a key that is not allowed/);
      }
    });

    it("accepts __proto__ as a value, and harmless keys such as constructor", async () => {
      await using server = await serve(stack);
      for (const text of [
        '{"a":"__proto__"}',
        '["constructor","prototype"]',
        '{"constructor":"Bob the builder"}',
        '{"constructor":{"name":"x"},"prototype":{}}',
        '{"a":"\\u00e9\\u005f"}',
      ]) {
        expect((await post(server.url, text)).body.body, text).to.deep.equal(JSON.parse(text));
      }
    });

    it("rejects a lone scalar value, and accepts it with strict: false", async () => {
      await using server = await serve(stack);
      await using loose = await serve(stack, { strict: false });
      for (const text of ["null", "5", '"x"', "true"]) {
        const { status, body } = await post(server.url, text);
        expect([status, body.detail]).to.deep.equal([400, "the body must be a JSON object or array"]);
        expect((await post(loose.url, text)).body.body).to.equal(JSON.parse(text));
      }
    });

    it("ignores a body that another parser has parsed", async () => {
      const first = jsonBody();
      await using twice = await serveAll(stack, [first, jsonBody({ maxDepth: 1 })]);
      expect((await post(twice.url, '[["deep"]]')).body.body).to.deep.equal([["deep"]]);
      const reader: Middleware = (req, _res, next) => {
        req.resume();
        req.on("end", () => next());
      };
      await using consumed = await serveAll(stack, [reader, jsonBody()]);
      expect((await post(consumed.url, "not json")).body).to.include({ parsed: false });
    });

    it("passes a 400 to next() when the client disconnects during the body", async () => {
      let fault: unknown;
      const { promise, resolve } = deferred();
      const parser = jsonBody();
      const watch: Middleware = (req, res, next) =>
        parser(req, res, (error) => {
          fault = error;
          resolve();
          next(error);
        });
      await using server = await serveAll(stack, [watch]);
      const socket = connect(server.port, "127.0.0.1");
      socket.write(raw("Content-Length: 10\r\n", '{"a"'));
      await once(server.server, "request");
      socket.destroy();
      await promise;
      expect(isProblemError(fault) && [fault.status, fault.code]).to.deep.equal([
        400,
        "ERR_SVC_BODY_INCOMPLETE",
      ]);
    });

    it("passes an error to next() when the client has disconnected before the body is read", async () => {
      const { promise, resolve } = deferred();
      let fault: unknown;
      const parser = jsonBody();
      const slow: Middleware = (req, res, next) => {
        req.once("close", () =>
          setImmediate(() =>
            parser(req, res, (error) => {
              fault = error;
              resolve();
              next(error);
            }),
          ),
        );
      };
      await using server = await serveAll(stack, [slow]);
      const socket = connect(server.port, "127.0.0.1");
      socket.write(raw("Content-Length: 10\r\n", '{"a"'));
      await once(server.server, "request");
      socket.destroy();
      await promise;
      expect(isProblemError(fault) && fault.code).to.equal("ERR_SVC_BODY_INCOMPLETE");
    });

    it("rejects a body shorter than its Content-Length with 400", async () => {
      await using server = await serve(stack);
      const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.end(raw("Content-Length: 10\r\n", '{"a"'));
      await once(socket, "close");
      expect(text).to.match(/^HTTP\/1\.1 400 /);
    });

    it("parses the body of a client that waits for 100 Continue", async () => {
      await using server = await serve(stack);
      const client = request(server.url, {
        method: "POST",
        headers: { ...JSON_TYPE, Expect: "100-continue" },
      });
      client.flushHeaders();
      await once(client, "continue");
      client.end('{"a":1}');
      const [response] = (await once(client, "response")) as [import("node:http").IncomingMessage];
      const chunks = (await response.toArray()) as Buffer[];
      expect(Buffer.concat(chunks).toString()).to.equal('{"parsed":true,"body":{"a":1}}');
    });

    it("COR-4 runs later middleware in the request's context, and in other libraries' contexts", async () => {
      const foreign = new AsyncLocalStorage<string>();
      const enter: Middleware = (req, res, next) => {
        openContext(req).requestId = "the-request";
        enterContext(req, res, next);
      };
      const other: Middleware = (_req, _res, next) => foreign.run("theirs", next);
      await using server = await serveAll(stack, [enter, other, jsonBody()], (req, res) => {
        sendJson(req, res, 200, { body: [currentContext()?.requestId, foreign.getStore(), bodyOf(req)] });
      });
      const seen = ["the-request", "theirs", { a: 1 }];
      expect((await post(server.url, '{"a":1}')).body.body).to.deep.equal(seen);
      const gzip = { ...JSON_TYPE, "Content-Encoding": "gzip" };
      const packed = new Uint8Array(zlib.gzipSync('{"a":1}'));
      expect((await post(server.url, packed, gzip)).body.body).to.deep.equal(seen);
    });

    it("COR-4 restores the context that an earlier reader has lost", async () => {
      const lose: Middleware = (req, res, next) => {
        openContext(req).requestId = "kept";
        enterContext(req, res, () => process.nextTick(() => new AsyncLocalStorage().exit(next)));
      };
      await using server = await serveAll(stack, [lose, jsonBody()], (req, res) => {
        sendJson(req, res, 200, { body: currentContext()?.requestId });
      });
      expect((await post(server.url, "{}")).body.body).to.equal("kept");
    });

    it("ERR-19 never returns 5xx, for any bytes", async () => {
      await using server = await serve(stack);
      let seed = 42;
      const random = (max: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
        return seed % max;
      };
      const alphabet = [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ":",
        ",",
        "1",
        "e",
        "-",
        "t",
        "null",
        "\u0000",
        "é",
        "\\u00",
      ];
      for (let round = 0; round < 150; round += 1) {
        const text = Array.from({ length: random(40) }, () => alphabet[random(alphabet.length)]).join("");
        const { status } = await post(server.url, text);
        expect([text, status < 500]).to.deep.equal([text, true]);
      }
    });
  });
}

describe("jsonBody with other parsers and attachProblems", () => {
  for (const [major, express] of Object.entries(expressMajors)) {
    it(`keeps the body that the first parser returned when express.json() of ${major} runs before or after it`, async () => {
      // Only express.json() replaces numbers.
      const marking = express.json({
        reviver: (_key, value: unknown) => (typeof value === "number" ? "express" : value),
      });
      for (const [parsers, a] of [
        [[marking, jsonBody()], "express"],
        [[jsonBody(), marking], 1],
      ] as const) {
        const app = express();
        app.use(...parsers, (req: { body: unknown }, res: { json(value: unknown): void }) =>
          res.json({ body: req.body }),
        );
        app.use(problemHandler());
        await using server = await listen(app);
        expect((await post(server.url, '{"a":1}')).body.body).to.deep.equal({ a });
      }
    });
  }

  it("ERR-21 responds with one problem to an invalid chunk in the body", async () => {
    const parser = jsonBody();
    const onError = problemHandler();
    const server = createServer(problemServerOptions, (req, res) => {
      parser(req, res, (error) => {
        if (error === undefined) res.end();
        else onError(error, req, res, () => undefined);
      });
    });
    attachProblems(server);
    await using listening = await listen(server);
    const { text, status } = await rawRequest(
      listening.port,
      raw("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\nzz\r\n"),
    );
    expect(status).to.equal(400);
    expect(text.match(/HTTP\/1\.1/g)).to.have.lengthOf(1);
  });

  it("ERR-21 responds with one 408 problem when the body does not arrive", async () => {
    const parser = jsonBody();
    const onError = problemHandler();
    const { promise, resolve } = deferred();
    const times = { requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 };
    const server = createServer({ ...problemServerOptions, ...times }, (req, res) => {
      parser(req, res, (error) => {
        onError(error, req, res, () => undefined);
        resolve();
      });
    });
    attachProblems(server);
    await using listening = await listen(server);
    const { text, status } = await rawRequest(listening.port, raw("Content-Length: 10\r\n", '{"a"'));
    expect(status).to.equal(408);
    expect(text.match(/HTTP\/1\.1/g)).to.have.lengthOf(1);
    await promise;
  });
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
