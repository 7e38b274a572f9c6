import { getEventListeners } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { inspect } from "node:util";
import { RequestContext, runWithContext } from "@svc/context";
import { type CallOptions, type ClientOptions, createClient, UpstreamError } from "@svc/http-client";
import type { ProblemError } from "@svc/problem";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { closedUrl, openRawUpstream, openUpstream } from "./support/upstream.ts";

const clientOf = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ name: "billing", baseUrl, attempts: 1, ...options });

async function failureOf(call: Promise<unknown>): Promise<ProblemError & { readonly cause: UpstreamError }> {
  const error = (await rejection(call)) as Error as ProblemError & { readonly cause: UpstreamError };
  expect(error.name, error.stack).to.equal("ProblemError");
  expect(error.cause).to.be.instanceOf(UpstreamError);
  return error;
}

function destroyNext(this: Readable): void {
  if (this.readableDidRead) this.destroy();
  else this.push("a");
}

describe("a call", () => {
  it("sends JSON, and reads status, headers and body", async () => {
    await using upstream = await openUpstream((res) =>
      res.writeHead(201, { "Content-Type": "application/json", "X-A": ["1", "2"] }).end('{"id":"ö"}'),
    );
    await using client = clientOf(upstream.url);
    const response = await client.post("/invoices", {
      query: { tag: "a b&c", page: 2, off: undefined },
      json: { n: 1 },
    });
    expect(response.status).to.equal(201);
    expect(response.headers["x-a"]).to.deep.equal(["1", "2"]);
    expect(response.json()).to.deep.equal({ id: "ö" });
    expect(response.text()).to.equal('{"id":"ö"}');
    expect(upstream.received[0]).to.include({
      method: "POST",
      url: "/invoices?tag=a+b%26c&page=2",
      body: '{"n":1}',
    });
    expect(upstream.received[0]?.headers).to.include({
      "content-type": "application/json",
      "content-length": "7",
    });
  });

  const bodies: readonly (readonly [
    name: string,
    options: CallOptions,
    body: string,
    type: string | undefined,
  ])[] = [
    ["a string", { body: "grün" }, "grün", "text/plain; charset=utf-8"],
    ["bytes", { body: Buffer.from("abc") }, "abc", undefined],
    ["a form", { body: new URLSearchParams({ a: "1 2" }) }, "a=1+2", "application/x-www-form-urlencoded"],
    ["a stream", { body: Readable.from([Buffer.from("ab"), Buffer.from("c")]) }, "abc", undefined],
    ["text with its own type", { body: "<a/>", headers: { "content-type": "text/xml" } }, "<a/>", "text/xml"],
    ["null as JSON", { json: null }, "null", "application/json"],
    ["nothing", {}, "", undefined],
  ];
  for (const [name, options, body, type] of bodies) {
    it(`sends ${name}`, async () => {
      await using upstream = await openUpstream((res) => res.end());
      await using client = clientOf(upstream.url);
      await client.put("/a", options);
      expect(upstream.received[0]).to.include({ method: "PUT", body });
      expect(upstream.received[0]?.headers["content-type"]).to.equal(type);
    });
  }

  it("sends each method", async () => {
    await using upstream = await openUpstream((res) => res.end());
    await using client = clientOf(upstream.url);
    await client.get("/a");
    await client.post("/a");
    await client.put("/a");
    await client.patch("/a");
    await client.delete("/a");
    await client.request("HEAD", "/a");
    expect(upstream.received.map(({ method }) => method)).to.deep.equal(
      "GET POST PUT PATCH DELETE HEAD".split(" "),
    );
  });

  for (const path of [
    "a",
    "",
    "//evil.example/a",
    "http://evil.example/",
    "/a b",
    "/a#b",
    "/a\r\nX: 1",
    "/ä",
  ]) {
    it(`is refused with the path ${JSON.stringify(path)}`, async () => {
      await using client = clientOf("http://127.0.0.1:9");
      expect(await rejection(client.get(path))).to.be.instanceOf(TypeError);
    });
  }

  const refusedOptions: readonly (readonly [options: object, message: string])[] = [
    ...[Infinity, 1e9, NaN, 0, -1, "5", null].map(
      (value) =>
        [
          { totalTimeoutSeconds: value },
          "the call option totalTimeoutSeconds must be a number from 0.001 to 3600; it is ",
        ] as const,
    ),
    [{ timeout: 5 }, "the call option timeout is unknown; did you mean totalTimeoutSeconds?"],
    [{ zebra: 5 }, "the call option zebra is unknown; expected one of query, headers, json, body, signal"],
    [{ header: {} }, "the call option header is unknown; did you mean headers?"],
    [{ throwOn4xx: "yes" }, "the call option throwOn4xx must be true or false"],
    [{ signal: new AbortController() }, "the call option signal must be an AbortSignal"],
    [
      { headers: new Headers({ "X-A": "1" }) },
      "the call option headers must be an object with a value for each name",
    ],
    [
      { headers: { "X-Count": 5 } },
      "the header X-Count must be a string, or a list in which each entry is a string",
    ],
    [{ headers: { "X-None": null } }, "the header X-None must be a string"],
    [{ headers: { "X-List": ["a", 1] } }, "the header X-List must be a string"],
    [
      { query: new URLSearchParams("a=1") },
      "the call option query must be an object with a value for each name",
    ],
    [{ query: { tags: ["a", "b"] } }, "the query parameter tags must be a string, a number, true or false"],
    [{ query: { filter: { secret: 1 } } }, "the query parameter filter must be a string"],
    [{ query: { page: null } }, "the query parameter page must be a string"],
  ];
  for (const [options, message] of refusedOptions) {
    const shown = inspect(options, { breakLength: Infinity });
    it(`is refused with the options ${shown}`, async () => {
      await using upstream = await openUpstream((res) => res.end());
      await using client = clientOf(upstream.url);
      for (const call of [client.get("/a", options), client.stream("GET", "/a", options)]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.contain(message);
      }
      expect(upstream.received).to.have.length(0);
    });
  }

  it("accepts the whole range of totalTimeoutSeconds, and header values that are lists or empty", async () => {
    await using upstream = await openUpstream((res) => res.end());
    await using client = clientOf(upstream.url);
    const headers = { "X-List": ["a", "b"], "X-Empty": "", "X-Off": undefined };
    await client.get("/a", { totalTimeoutSeconds: 3600, headers, query: undefined, signal: undefined });
    expect(upstream.received[0]?.headers).to.include({ "x-list": "a, b", "x-empty": "" });
  });

  for (const method of ["get", "Get", "GE T", "", "CONNECT", 1]) {
    it(`is refused with the method ${JSON.stringify(method)}`, async () => {
      await using client = clientOf("http://127.0.0.1:9");
      const error = await rejection(client.request(method as string, "/a"));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain("the method of a call must be in upper case");
    });
  }

  it("is refused with a body of another type, with two bodies, and with a value that JSON cannot represent", async () => {
    await using client = clientOf("http://127.0.0.1:9");
    for (const options of [{ body: { a: 1 } }, { body: "a", json: 1 }, { json: () => 1 }] as never[]) {
      expect(await rejection(client.post("/a", options))).to.be.instanceOf(TypeError);
    }
    const error = await rejection(client.post("/a", { body: null as never }));
    expect(error).to.be.instanceOf(TypeError);
    expect(error.message).to.match(/^body must be a string, bytes, URLSearchParams or a stream/);
  });

  for (const options of [null, "query", 1, new URLSearchParams("a=1")]) {
    it(`is refused with ${inspect(options)} instead of options`, async () => {
      await using client = clientOf("http://127.0.0.1:9");
      for (const call of [client.get("/a", options as never), client.stream("GET", "/a", options as never)]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.contain(
          "the options of a call must be an object with a value for each name",
        );
      }
    });
  }

  for (const status of [400, 401, 404, 409, 429]) {
    it(`returns a response with the status ${status}, and throws an error instead with throwOn4xx`, async () => {
      await using upstream = await openUpstream((res) => res.writeHead(status).end("upstream's secret"));
      await using client = clientOf(upstream.url);
      expect((await client.get("/a")).status).to.equal(status);
      const error = await failureOf(client.get("/a", { throwOn4xx: true }));
      expect(error).to.include({
        status: 502,
        detail: "the service 'billing' sent an invalid response",
        code: "ERR_SVC_UPSTREAM_REFUSED",
      });
      expect(error.cause).to.include({ kind: "refused", status });
    });
  }

  const statuses = { 500: 502, 501: 502, 502: 503, 503: 503, 504: 504, 599: 502 };
  const details = {
    502: "the service 'billing' sent an invalid response",
    503: "the service 'billing' is not answering",
    504: "the service 'billing' did not answer in time",
  };
  for (const [sent, status] of Object.entries(statuses)) {
    it(`throws a problem with the status ${status} for the status ${sent}, without any part of the response`, async () => {
      await using upstream = await openUpstream((res) =>
        res.writeHead(Number(sent), { "Retry-After": "7", "X-Secret": "secret" }).end("upstream's secret"),
      );
      await using client = clientOf(upstream.url);
      const error = await failureOf(client.get("/a"));
      expect(error).to.include({ status, detail: details[status as 502] });
      expect(error.headers).to.deep.equal(status === 503 ? { "Retry-After": "1" } : undefined);
      expect(JSON.stringify(error)).to.not.contain("secret");
      expect(error.cause.status).to.equal(Number(sent));
      expect(error.cause.message).to.not.contain("secret");
    });
  }

  it("throws 503 when no connection can be made", async () => {
    await using client = clientOf(await closedUrl());
    const error = await failureOf(client.get("/a"));
    expect(error).to.include({ status: 503, detail: details[503], code: "ERR_SVC_UPSTREAM_UNAVAILABLE" });
    expect(error.cause).to.include({ kind: "unavailable", code: "ECONNREFUSED" });
  });

  it("throws 503 for a host that does not exist", async () => {
    await using client = clientOf("http://no-such-host.invalid");
    expect((await failureOf(client.get("/a"))).status).to.equal(503);
  });

  it("throws 504 when the response does not begin in time", async () => {
    await using upstream = await openUpstream(() => undefined);
    await using client = clientOf(upstream.url, { headersTimeoutSeconds: 0.05 });
    const error = await failureOf(client.get("/a"));
    expect(error).to.include({ status: 504, detail: details[504], code: "ERR_SVC_UPSTREAM_TIMEOUT" });
  });

  it("throws 504 when the body pauses for too long", async () => {
    await using upstream = await openUpstream((res) => void res.writeHead(200).write("a"));
    await using client = clientOf(upstream.url, { bodyTimeoutSeconds: 0.05 });
    expect(await failureOf(client.get("/a"))).to.include({ status: 504 });
  });

  it("throws 504 at the time limit of the call, even while the body arrives slowly", async () => {
    await using upstream = await openUpstream((res) => {
      const timer = setInterval(() => res.write("a"), 5);
      res.on("close", () => clearInterval(timer));
    });
    await using client = clientOf(upstream.url);
    const error = await failureOf(client.get("/a", { totalTimeoutSeconds: 0.1 }));
    expect(error).to.include({ status: 504 });
    expect(error.cause.message).to.equal("no response within the time limit of the call");
  });

  it("throws 504 at the time limit while informational responses arrive", async () => {
    await using upstream = await openRawUpstream((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 1);
      socket.on("close", () => clearInterval(timer));
    });
    await using client = clientOf(upstream.url, { totalTimeoutSeconds: 0.1 });
    expect(await failureOf(client.get("/a"))).to.include({ status: 504 });
  });

  it("counts a timeout after informational responses as a failure of the upstream", async () => {
    await using upstream = await openRawUpstream((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 1);
      socket.on("close", () => clearInterval(timer));
    });
    await using client = clientOf(upstream.url, { headersTimeoutSeconds: 0.05, attempts: 1 });
    const statuses: number[] = [];
    for (let sent = 0; sent < 6; sent += 1) statuses.push((await failureOf(client.get("/a"))).status);
    expect(statuses).to.deep.equal([504, 504, 504, 504, 504, 503]);
  });

  it("counts the client's own time limit as a failure of the upstream", async () => {
    await using upstream = await openUpstream(() => undefined);
    await using client = clientOf(upstream.url, { totalTimeoutSeconds: 0.05, attempts: 1 });
    const statuses: number[] = [];
    for (let sent = 0; sent < 6; sent += 1) statuses.push((await failureOf(client.get("/a"))).status);
    expect(statuses).to.deep.equal([504, 504, 504, 504, 504, 503]);
  });

  it("ignores early hints before the response", async () => {
    await using upstream = await openRawUpstream((socket) =>
      socket.write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    );
    await using client = clientOf(upstream.url);
    expect((await client.get("/a")).text()).to.equal("ok");
  });

  it("ends at the deadline of the current request", async () => {
    await using upstream = await openUpstream(() => undefined);
    await using client = clientOf(upstream.url);
    const context = new RequestContext();
    context.deadline = performance.now() + 300;
    const error = await failureOf(runWithContext(context, () => client.get("/a")));
    expect(error).to.include({ status: 504 });
    context.deadline = performance.now() - 1;
    await failureOf(runWithContext(context, () => client.get("/a")));
    expect(upstream.received).to.have.length(1);
  });

  it("rejects with the reason of its signal, before it is sent and while it waits", async () => {
    await using upstream = await openUpstream(() => undefined);
    await using client = clientOf(upstream.url);
    const reason = new Error("the caller has left");
    const early = AbortSignal.abort(reason);
    expect(await rejection(client.get("/a", { signal: early }))).to.equal(reason);
    expect(upstream.received).to.have.length(0);
    const controller = new AbortController();
    const call = rejection(client.get("/a", { signal: controller.signal }));
    await until("the request has arrived", () => upstream.received.length === 1);
    controller.abort(reason);
    expect(await call).to.equal(reason);
  });

  it("rejects with the error of its request body stream", async () => {
    await using upstream = await openUpstream((res) => res.end());
    await using client = clientOf(upstream.url);
    const fault = new Error("the file cannot be read");
    const body = Readable.from(
      (async function* () {
        yield Buffer.from("a");
        throw fault;
      })(),
    );
    expect(await rejection(client.post("/a", { body }))).to.equal(fault);
  });

  const unsendable: Readonly<Record<string, () => CallOptions["body"]>> = {
    "was destroyed": () => new PassThrough().destroy(),
    "is destroyed while it is sent": () => new Readable({ read: destroyNext }),
    "is a generator that throws undefined": async function* () {
      yield Buffer.from("a");
      throw undefined;
    } as never,
  };
  for (const [what, body] of Object.entries(unsendable)) {
    it(`is rejected with a TypeError if its body ${what}, which is not a failure of the upstream`, async () => {
      await using upstream = await openUpstream((res) => res.end());
      await using client = clientOf(upstream.url, { breakerFailures: 1 });
      const error = await rejection(client.post("/a", { body: body() }));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.equal("the body of the call was destroyed before its end");
      expect((await client.get("/a")).status).to.equal(200);
    });
  }

  it("is refused with a stream that was already read, because it would be sent without its body", async () => {
    await using upstream = await openUpstream((res) => res.end());
    await using client = clientOf(upstream.url);
    const body = Readable.from([Buffer.from("a")]);
    await body.toArray();
    const error = await rejection(client.post("/a", { body }));
    expect(error).to.be.instanceOf(TypeError);
    expect(error.message).to.equal("the body of the call was already read to its end");
    expect(upstream.received).to.have.length(0);
  });

  const raw: Readonly<Record<string, string>> = {
    "is no HTTP": "SSH-2.0-OpenSSH_9.2\r\n",
    "has an invalid header": "HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n",
    "has two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
    "has a length and chunks":
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "has an invalid chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "has too many headers": `HTTP/1.1 200 OK\r\nA: ${"a".repeat(200_000)}\r\n\r\n`,
  };
  for (const [name, bytes] of Object.entries(raw)) {
    it(`throws 502 for a response that ${name}`, async () => {
      await using upstream = await openRawUpstream((socket) => socket.write(bytes));
      await using client = clientOf(upstream.url);
      const error = await failureOf(client.get("/a"));
      expect(error).to.include({ status: 502, detail: details[502] });
      expect(inspect(error, { depth: 9 })).to.not.contain(bytes.slice(-20));
    });
  }

  it("throws 502 for a body that ends too early", async () => {
    await using upstream = await openRawUpstream((socket) =>
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
    );
    await using client = clientOf(upstream.url);
    expect(await failureOf(client.get("/a"))).to.include({ status: 502 });
  });

  for (const [name, head] of Object.entries({
    "whose declared length is too large": "Content-Length: 1000000000",
    "without an end": "Transfer-Encoding: chunked",
  })) {
    it(`throws 502 for a body ${name}`, async () => {
      await using upstream = await openRawUpstream((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
        const timer = setInterval(() => socket.write(`400\r\n${"a".repeat(1024)}\r\n`), 1);
        socket.on("close", () => clearInterval(timer));
      });
      await using client = clientOf(upstream.url, { maxBodyBytes: 10_000 });
      const error = await failureOf(client.get("/a"));
      expect(error).to.include({ status: 502 });
      expect(error.cause.message).to.equal("the body has more than 10000 bytes");
    });
  }

  for (const [method, status] of [
    ["HEAD", 200],
    ["GET", 304],
  ] as const) {
    it(`ignores Content-Encoding and a too large Content-Length for ${method} with ${status}, which has no body`, async () => {
      await using upstream = await openRawUpstream((socket) =>
        socket.write(`HTTP/1.1 ${status} x\r\nContent-Length: 1000000\r\nContent-Encoding: gzip\r\n\r\n`),
      );
      await using client = clientOf(upstream.url, { maxBodyBytes: 10 });
      const response = await client.request(method, "/a");
      expect(response).to.include({ status });
      expect(response.bytes()).to.have.length(0);
    });
  }

  it("throws 502 for a compressed body that it did not accept, and returns one that it accepted", async () => {
    await using upstream = await openUpstream((res) =>
      res.writeHead(200, { "Content-Encoding": "gzip" }).end("compressed"),
    );
    await using client = clientOf(upstream.url);
    expect(await failureOf(client.get("/a"))).to.include({ status: 502 });
    expect(upstream.received[0]?.headers["accept-encoding"]).to.equal("identity");
    const response = await client.get("/a", { headers: { "Accept-Encoding": "gzip" } });
    expect(response.text()).to.equal("compressed");
  });

  for (const encoding of ["Identity", "IDENTITY", "", "identity, Identity"]) {
    it(`accepts the Content-Encoding ${JSON.stringify(encoding)}`, async () => {
      await using upstream = await openUpstream((res) =>
        res.writeHead(200, { "Content-Encoding": encoding }).end("plain"),
      );
      await using client = clientOf(upstream.url);
      expect((await client.get("/a")).text()).to.equal("plain");
    });
  }

  for (const encoding of ["GZIP", "identity, gzip"]) {
    it(`throws 502 for the Content-Encoding ${encoding}`, async () => {
      await using upstream = await openUpstream((res) =>
        res.writeHead(200, { "Content-Encoding": encoding }).end("compressed"),
      );
      await using client = clientOf(upstream.url);
      expect(await failureOf(client.get("/a"))).to.include({ status: 502 });
    });
  }

  it("rejects with the reason of an aborted signal, even if the reason is not an error", async () => {
    await using upstream = await openUpstream(() => undefined);
    await using client = clientOf(upstream.url);
    for (const [index, reason] of ["left", null].entries()) {
      const controller = new AbortController();
      const call = client.get("/a", { signal: controller.signal }).then(
        () => "resolved",
        (error: unknown) => error,
      );
      await until("the request has arrived", () => upstream.received.length === index + 1);
      controller.abort(reason);
      expect(await call).to.equal(reason);
    }
  });

  it("throws 502 when json() reads a body that is not JSON", async () => {
    await using upstream = await openUpstream((res) => res.end("upstream's secret"));
    await using client = clientOf(upstream.url);
    const response = await client.get("/a");
    expect(() => response.json()).to.throw(details[502]);
  });

  describe("with redirects", () => {
    it("returns them by default", async () => {
      await using upstream = await openUpstream((res) => res.writeHead(302, { Location: "/b" }).end());
      await using client = clientOf(upstream.url);
      expect((await client.get("/a")).status).to.equal(302);
      expect(upstream.received).to.have.length(1);
    });

    it("follows them within the origin, up to the limit", async () => {
      await using upstream = await openUpstream((res, _count, req) =>
        req.url === "/dir/end?q=1" ? res.end("done") : res.writeHead(307, { Location: "end?q=1" }).end(),
      );
      await using client = clientOf(upstream.url, { maxRedirects: 1 });
      expect((await client.get("/dir/a")).text()).to.equal("done");
      expect((await client.post("/dir/a")).status).to.equal(307);
      await using loop = await openUpstream((res) => res.writeHead(302, { Location: "/a" }).end());
      await using looping = clientOf(loop.url, { maxRedirects: 3 });
      expect((await failureOf(looping.get("/a"))).cause.message).to.equal("more than 3 redirects");
      expect(loop.received).to.have.length(4);
    });

    for (const location of ["http://evil.example/", "//evil.example/", "http://[", "file:///etc/passwd"]) {
      it(`HTTP-3 does not follow one to ${location}`, async () => {
        await using upstream = await openUpstream((res) => res.writeHead(302, { Location: location }).end());
        await using client = clientOf(upstream.url, { maxRedirects: 5 });
        const error = await failureOf(client.get("/a"));
        expect(error).to.include({ status: 502 });
        expect(error.cause.message).to.equal("a redirect to another origin");
      });
    }
  });

  describe("as a stream", () => {
    it("has a body of any size, with backpressure", async () => {
      const chunk = Buffer.alloc(64 * 1024, 1);
      let written = 0;
      await using upstream = await openUpstream((res) => {
        const write = (): void => {
          while (written < 400) {
            written += 1;
            if (!res.write(chunk)) return void res.once("drain", write);
          }
          res.end();
        };
        write();
      });
      await using client = clientOf(upstream.url, { maxBodyBytes: 10 });
      const { status, body } = await client.stream("GET", "/a");
      expect(status).to.equal(200);
      let stopped = -1;
      await until("the upstream waits for the reader", () => {
        const isSame = written === stopped;
        stopped = written;
        return isSame;
      });
      expect(written).to.be.below(400);
      let length = 0;
      for await (const part of body) length += (part as Buffer).length;
      expect(length).to.equal(400 * chunk.length);
    });

    it("fails with a problem when the body ends too early", async () => {
      await using upstream = await openRawUpstream((socket) =>
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
      );
      await using client = clientOf(upstream.url);
      const { body } = await client.stream("GET", "/a");
      // The failure arrives before the caller reads.
      await until("the connection has failed", () => body.destroyed);
      const error = await failureOf(body.toArray());
      expect(error).to.include({ status: 502 });
    });

    it("ends with the reason of a signal that aborts after the headers, and frees its slot", async () => {
      let closed = 0;
      await using upstream = await openUpstream((res) => {
        res.on("close", () => (closed += 1));
        res.writeHead(200).write("a");
      });
      await using client = clientOf(upstream.url, { maxConcurrentCalls: 1, maxWaitSeconds: 60 });
      const reason = new Error("the caller has left");
      for (let call = 1; call <= 2; call++) {
        const controller = new AbortController();
        const { body } = await client.stream("GET", "/a", { signal: controller.signal });
        const read = rejection(body.toArray());
        controller.abort(reason);
        expect(await read).to.equal(reason);
        await until("the upstream sees the end", () => closed === call);
      }
      expect(client.readiness().check(new AbortController().signal)).to.deep.include({
        meta: { calls: 0, waiting: 0 },
      });
    });

    it("removes its listener from the signal when the body has ended", async () => {
      await using upstream = await openUpstream((res) => res.end("a"));
      await using client = clientOf(upstream.url);
      const { signal } = new AbortController();
      const { body } = await client.stream("GET", "/a", { signal });
      expect(getEventListeners(signal, "abort")).to.have.length(1);
      await body.toArray();
      await until("the body is closed", () => body.closed);
      expect(getEventListeners(signal, "abort")).to.have.length(0);
    });

    it("ends the request when the stream is destroyed, and frees its slot", async () => {
      let closed = 0;
      await using upstream = await openUpstream((res) => {
        res.on("close", () => (closed += 1));
        res.writeHead(200).write("a");
      });
      await using client = clientOf(upstream.url, { maxConcurrentCalls: 1, maxWaitSeconds: 60 });
      for (let call = 1; call <= 3; call++) {
        const { body } = await client.stream("GET", "/a");
        body.destroy();
        await until("the upstream sees the end", () => closed === call);
      }
    });
  });
});
