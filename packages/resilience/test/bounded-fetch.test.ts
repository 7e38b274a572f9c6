import { AnswerTooLargeError, boundedFetch, DeadlineError, jsonOf, OptionError } from "@svc/resilience";
import { listen, rejection } from "@svc/test-support";
import { expect } from "chai";

const limits = { timeoutMs: 15_000, maxBytes: 100 } as const;

describe("boundedFetch", () => {
  it("returns status, headers and the whole body", async () => {
    await using server = await listen((req, res) => {
      res.writeHead(201, { "x-method": String(req.method) });
      res.write('{"a":');
      res.end("1}");
    });
    const { status, headers, body } = await boundedFetch(server.url, { method: "POST" }, limits);
    expect(status).to.equal(201);
    expect(headers.get("x-method")).to.equal("POST");
    expect(jsonOf(body)).to.deep.equal({ a: 1 });
  });

  it("rejects a response that is too large, by its Content-Length or while reading, and closes the connection", async () => {
    for (const headers of [{ "content-length": "101" }, {}]) {
      const closed = Promise.withResolvers<void>();
      await using server = await listen((_req, res) => {
        res.on("close", () => closed.resolve());
        res.writeHead(200, headers);
        res.write("x".repeat(99));
        if (!("content-length" in headers)) res.write("yz");
      });
      const error = await rejection(boundedFetch(server.url, {}, limits));
      expect(error).to.be.instanceOf(AnswerTooLargeError).and.include({ code: "ERR_SVC_ANSWER_TOO_LARGE" });
      await closed.promise;
    }
  });

  it("accepts a Content-Length above the limit in a response to HEAD, which has no body", async () => {
    await using server = await listen((_req, res) => res.writeHead(200, { "content-length": "101" }).end());
    const { status, body } = await boundedFetch(server.url, { method: "HEAD" }, limits);
    expect([status, body.length]).to.deep.equal([200, 0]);
  });

  it("rejects at the deadline while the body is incomplete, and with the reason of an aborted signal", async () => {
    await using server = await listen((_req, res) => void res.write("x"));
    const late = await rejection(boundedFetch(server.url, {}, { ...limits, timeoutMs: 50 }));
    expect(late).to.be.instanceOf(DeadlineError).and.include({ ms: 50 });
    const reason = new Error("the caller left");
    const signal = AbortSignal.abort(reason);
    expect(await rejection(boundedFetch(server.url, {}, { ...limits, signal }))).to.equal(reason);
  });

  it("returns a redirect as a response, unless followRedirects is set", async () => {
    await using server = await listen((req, res) => {
      if (req.url === "/") res.writeHead(302, { location: "/target" }).end();
      else res.end("arrived");
    });
    expect((await boundedFetch(server.url, {}, limits)).status).to.equal(302);
    const { body } = await boundedFetch(server.url, {}, { ...limits, followRedirects: true });
    expect(Buffer.from(body).toString()).to.equal("arrived");
  });

  it("does not read the body of a response that accept() rejects", async () => {
    await using server = await listen((_req, res) => void res.writeHead(503).write("x"));
    const refusal = new Error("503");
    const accept = ({ ok }: Response): void => {
      if (!ok) throw refusal;
    };
    expect(await rejection(boundedFetch(server.url, {}, { ...limits, accept }))).to.equal(refusal);
  });

  it("uses the given fetch, and rejects with its errors", async () => {
    const failure = new TypeError("fetch failed");
    const fetch = async (): Promise<Response> => Promise.reject(failure);
    expect(await rejection(boundedFetch("https://idp.example", {}, { ...limits, fetch }))).to.equal(failure);
  });

  it("rejects unknown and invalid options", async () => {
    for (const wrong of [{ maxBytes: -1 }, { fetch: 1 }, { timeout: 5 }]) {
      const error = await rejection(
        boundedFetch("https://x.example", {}, { ...limits, ...(wrong as object) }),
      );
      expect(error).to.be.instanceOf(OptionError);
    }
  });
});

describe("jsonOf", () => {
  it("returns undefined for malformed JSON and malformed UTF-8", () => {
    expect(jsonOf(Buffer.from("null"))).to.equal(null);
    expect(jsonOf(Buffer.from("{"))).to.equal(undefined);
    expect(jsonOf(Buffer.from([0x22, 0xff, 0x22]))).to.equal(undefined);
  });
});
