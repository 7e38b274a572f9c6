import zlib from "node:zlib";
import { setImmediate as turn } from "node:timers/promises";
import { currentContext, enterContext, type Middleware, openContext } from "@svc/context";
import { formBody, jsonBody, rawBody, type VerifyBody } from "@svc/json-body";
import { ConfigurationError } from "@svc/options";
import { ProblemError, serviceUnavailable } from "@svc/problem";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { post, serve, serveAll, stacks } from "./support/stacks.ts";

const json = { "Content-Type": "application/json" };

/** Returns a `verify` function that accepts everything, and the bodies that it has received, as strings. */
function recorder(): { readonly verify: VerifyBody; readonly seen: string[] } {
  const seen: string[] = [];
  return {
    seen,
    verify(_req, _res, bytes) {
      seen.push(bytes.toString("latin1"));
      return true;
    },
  };
}

describe("jsonBody({ verify })", () => {
  it("rejects a value that is not a function", () => {
    for (const verify of [true, "sha256", {}, null])
      expect(() => jsonBody({ verify } as never)).to.throw(ConfigurationError, "verify: must be a function");
  });
});

for (const stack of stacks) {
  describe(`jsonBody({ verify }) on ${stack}`, () => {
    it("calls verify with the request, the response and the bytes as sent, before it parses", async () => {
      const calls: unknown[][] = [];
      const verify: VerifyBody = (req, res, bytes) => {
        calls.push([req.headers["x-signature"], res.headersSent, (req as { body?: unknown }).body, bytes]);
        return true;
      };
      await using server = await serve(stack, { verify });
      const text = '{ "a" : 1 }\r\n';
      const { body } = await post(server.url, text, { ...json, "X-Signature": "s" });
      expect(body).to.deep.equal({ parsed: true, body: { a: 1 } });
      // Express 4 has no own `body` before a parser sets one.
      expect(calls).to.deep.equal([["s", false, undefined, Buffer.from(text)]]);
    });

    it("responds with 403 if verify throws, rejects, or returns anything but true or a promise of true", async () => {
      const refusing: VerifyBody[] = [
        () => {
          throw new Error("bad signature of secret hunter2");
        },
        async () => {
          await turn();
          throw new RangeError("secret hunter2");
        },
        () => Promise.reject(undefined as never),
        () => false,
        () => Promise.resolve(false),
        ...[undefined, null, 0, "", 1, "true", new Error("no"), Promise.resolve(undefined)].map(
          (value) => () => value as never,
        ),
        () => {
          throw null as never;
        },
      ];
      for (const verify of refusing) {
        await using server = await serve(stack, { verify });
        const { status, body, headers } = await post(server.url, '{"a":1}');
        expect([status, body.detail, headers.get("connection")]).to.deep.equal([
          403,
          "the body could not be verified",
          "keep-alive",
        ]);
        expect(JSON.stringify(body)).to.not.contain("hunter2");
      }
    });

    it("accepts a body if verify returns true or a promise of true", async () => {
      for (const value of [true, Promise.resolve(true)]) {
        await using server = await serve(stack, { verify: () => value });
        expect((await post(server.url, '{"a":1}')).body.body).to.deep.equal({ a: 1 });
      }
    });

    it("passes the code and the cause of a refusal to next()", async () => {
      const cause = new Error("no such key");
      const { promise, resolve } = Promise.withResolvers<ProblemError>();
      const parser = jsonBody({
        verify(): never {
          throw cause;
        },
      });
      const watch: Middleware = (req, res, next) =>
        parser(req, res, (error) => {
          resolve(error as ProblemError);
          next(error);
        });
      await using server = await serveAll(stack, [watch]);
      expect((await post(server.url, "{}")).status).to.equal(403);
      expect(await promise).to.include({ code: "ERR_SVC_BODY_NOT_VERIFIED", cause });
    });

    it("keeps the status of a thrown problem, and of an error with a boolean `expose`", async () => {
      const gone = serviceUnavailable("the keys are not available", { retryAfterSeconds: 5 });
      const exposed = Object.assign(new Error("late"), { status: 408, expose: true });
      for (const [thrown, status] of [
        [gone, 503],
        [exposed, 408],
      ] as const) {
        await using server = await serve(stack, { verify: () => Promise.reject(thrown) });
        expect((await post(server.url, "{}")).status).to.equal(status);
      }
    });

    it("verifies before it inflates and parses, so a refused body is neither inflated nor parsed", async () => {
      const packed = zlib.gzipSync('{"a":1}') as Buffer<ArrayBuffer>;
      const gzip = { ...json, "Content-Encoding": "gzip" };
      const { verify, seen } = recorder();
      await using server = await serve(stack, { verify });
      expect((await post(server.url, packed, gzip)).body.body).to.deep.equal({ a: 1 });
      expect(seen).to.deep.equal([packed.toString("latin1")]);
      await using strict = await serve(stack, { verify: () => false, maxBytes: 1_000 });
      const bomb = zlib.gzipSync("x".repeat(100_000)) as Buffer<ArrayBuffer>;
      for (const [body, headers] of [
        [bomb, gzip],
        [Buffer.from("{") as Buffer<ArrayBuffer>, json],
      ] as const)
        expect((await post(strict.url, body, headers)).status).to.equal(403);
    });

    it("still rejects a verified body that is malformed, not inflatable or too large when inflated", async () => {
      const { verify } = recorder();
      await using server = await serve(stack, { verify, maxBytes: 1_000 });
      const gzip = { ...json, "Content-Encoding": "gzip" };
      expect((await post(server.url, "{")).status).to.equal(400);
      expect((await post(server.url, "{}", gzip)).status).to.equal(400);
      const bomb = zlib.gzipSync(`["${"x".repeat(2_000)}"]`) as Buffer<ArrayBuffer>;
      expect((await post(server.url, bomb, gzip)).status).to.equal(413);
    });

    it("does not call verify for a body over the limit, of another type or charset, or for a GET without a body", async () => {
      const { verify, seen } = recorder();
      await using server = await serve(stack, { verify, maxBytes: 10 });
      expect((await post(server.url, "x".repeat(11))).status).to.equal(413);
      expect((await post(server.url, "{}", { "Content-Type": "text/plain" })).status).to.equal(415);
      expect(
        (await post(server.url, "{}", { "Content-Type": "application/json; charset=latin1" })).status,
      ).to.equal(415);
      expect(await (await fetch(server.url, { headers: json })).json()).to.deep.equal({ parsed: false });
      expect(seen).to.deep.equal([]);
    });

    it("calls verify with no bytes for a POST with an empty body or without a body", async () => {
      const head = "POST / HTTP/1.1\r\nHost: a\r\n";
      const requests = [
        `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        `${head}Content-Type: application/json\r\nContent-Length: 0\r\n\r\n`,
        `${head}\r\n`,
      ];
      const { verify, seen } = recorder();
      await using server = await serve(stack, { verify });
      await using strict = await serve(stack, { verify: () => false });
      for (const request of requests) {
        expect((await rawRequest(server.port, request)).body).to.equal('{"parsed":false}');
        expect((await rawRequest(strict.port, request)).text).to.match(/^HTTP\/1.1 403 /);
      }
      expect(seen).to.deep.equal(["", "", ""]);
    });

    it("responds with 500 if an earlier parser has read the body, because it can no longer be verified", async () => {
      const { verify, seen } = recorder();
      for (const earlier of [jsonBody(), rawBody()]) {
        await using server = await serveAll(stack, [earlier, jsonBody({ verify })]);
        const { status, body } = await post(server.url, '{"a":1}');
        expect([status, body.detail]).to.deep.equal([500, "An unexpected error occurred"]);
      }
      await using server = await serveAll(stack, [formBody(), jsonBody({ verify })]);
      const form = { "Content-Type": "application/x-www-form-urlencoded" };
      expect((await post(server.url, "a=1", form)).status).to.equal(500);
      expect(seen).to.deep.equal([]);
    });

    it("COR-4 calls verify in the request's context, and keeps the context for later middleware", async () => {
      const ids: unknown[] = [];
      const note = (): void => void ids.push(currentContext()?.requestId);
      const enter: Middleware = (req, res, next) => {
        openContext(req).requestId = "the-request";
        enterContext(req, res, next);
      };
      const verify: VerifyBody = async () => {
        note();
        await turn();
        note();
        return true;
      };
      const look: Middleware = (_req, _res, next) => {
        note();
        next();
      };
      await using server = await serveAll(stack, [enter, jsonBody({ verify }), look]);
      expect((await post(server.url, "{}")).status).to.equal(200);
      expect(ids).to.deep.equal(["the-request", "the-request", "the-request"]);
    });
  });
}
