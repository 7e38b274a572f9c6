import { Readable } from "node:stream";
import { mock } from "node:test";
import { type Logger, RequestContext, runWithContext } from "@svc/context";
import { type CallOptions, type ClientOptions, createClient } from "@svc/http-client";
import type { ProblemError } from "@svc/problem";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { createRetryBudget } from "../src/retry-budget.ts";
import { waitAfter } from "../src/retries.ts";
import { closedUrl, openRawUpstream, openUpstream, type Upstream } from "./support/upstream.ts";

const clientOf = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ name: "billing", baseUrl, ...options });

function recordingLogger() {
  const logged: string[] = [];
  const log = (_fields: object, text: string): void => void logged.push(text);
  return {
    logged,
    logger: { debug: log, info: log, warn: log, error: log, fatal: log } as unknown as Logger,
  };
}

/**
 * Sends calls whose time limit is over 20 s, lets that limit pass when all requests have arrived, and returns the errors
 * of the calls.
 */
async function atTimeLimit(upstream: Upstream, calls: readonly (() => Promise<unknown>)[]): Promise<Error[]> {
  const before = upstream.received.length;
  const timers = mock.method(globalThis, "setTimeout");
  try {
    const errors = Promise.all(calls.map(rejection));
    await until("the requests have arrived", () => upstream.received.length === before + calls.length);
    for (const { arguments: given } of timers.mock.calls) {
      const [onTimeout, ms = 0] = given as [() => void, number?];
      if (ms > 20_000) onTimeout();
    }
    return await errors;
  } finally {
    timers.mock.restore();
  }
}

describe("the retries of a call", () => {
  for (const status of [429, 502, 503, 504]) {
    it(`are made after the status ${status}`, async () => {
      await using upstream = await openUpstream((res, count) =>
        res.writeHead(count < 3 ? status : 200).end("ok"),
      );
      await using client = clientOf(upstream.url);
      expect((await client.get("/a")).text()).to.equal("ok");
      expect(upstream.received).to.have.length(3);
    });
  }

  it("end after the last try", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(429).end());
    await using client = clientOf(upstream.url, { attempts: 2 });
    expect((await client.get("/a")).status).to.equal(429);
    expect(upstream.received).to.have.length(2);
  });

  for (const status of [400, 404, 409, 500, 501]) {
    it(`are not made after the status ${status}`, async () => {
      await using upstream = await openUpstream((res) => res.writeHead(status).end());
      await using client = clientOf(upstream.url);
      await client.get("/a").catch(() => undefined);
      expect(upstream.received).to.have.length(1);
    });
  }

  it("are made after a connection that ends without a response", async () => {
    let requests = 0;
    await using upstream = await openRawUpstream((socket) => {
      requests += 1;
      if (requests < 3) socket.destroy();
      else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    await using client = clientOf(upstream.url);
    expect((await client.get("/a")).text()).to.equal("ok");
    expect(requests).to.equal(3);
  });

  it("are not made after an invalid response", async () => {
    await using upstream = await openRawUpstream((socket) => socket.write("no HTTP\r\n"));
    await using client = clientOf(upstream.url);
    expect(((await rejection(client.get("/a"))) as Error as ProblemError).status).to.equal(502);
    expect(upstream.requests()).to.equal(1);
  });

  const calls: readonly (readonly [
    name: string,
    method: string,
    options: () => CallOptions,
    tries: number,
  ])[] = [
    ["GET", "GET", () => ({}), 3],
    ["HEAD", "HEAD", () => ({}), 3],
    ["PUT with a string", "PUT", () => ({ body: "a" }), 3],
    ["DELETE", "DELETE", () => ({}), 3],
    ["POST", "POST", () => ({ json: {} }), 1],
    ["PATCH", "PATCH", () => ({ json: {} }), 1],
    ["POST with an Idempotency-Key", "POST", () => ({ json: {}, headers: { "idempotency-key": "1" } }), 3],
    ["PUT with a stream", "PUT", () => ({ body: Readable.from([Buffer.from("a")]) }), 1],
  ];
  for (const [name, method, options, tries] of calls) {
    it(`bring the number of attempts for ${name} to ${tries}`, async () => {
      await using upstream = await openUpstream((res) => res.writeHead(503).end());
      await using client = clientOf(upstream.url);
      expect(
        ((await rejection(client.request(method, "/a", options()))) as Error as ProblemError).status,
      ).to.equal(503);
      expect(upstream.received).to.have.length(tries);
      expect(new Set(upstream.received.map(({ body }) => body)).size).to.equal(1);
    });
  }

  it("are not made if the next one would begin after the time limit", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(503, { "Retry-After": "5" }).end());
    await using client = clientOf(upstream.url, { totalTimeoutSeconds: 4 });
    await rejection(client.get("/a"));
    expect(upstream.received).to.have.length(1);
  });

  it("end when the caller's signal aborts during the wait", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(503, { "Retry-After": "20" }).end());
    await using client = clientOf(upstream.url);
    const controller = new AbortController();
    const call = rejection(client.get("/a", { signal: controller.signal }));
    await until("the request has arrived", () => upstream.received.length === 1);
    controller.abort(new Error("the caller has left"));
    expect((await call).message).to.equal("the caller has left");
    expect(upstream.received).to.have.length(1);
  });

  it("are limited to a share of all calls", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(503).end());
    await using client = clientOf(upstream.url, { breakerFailures: 1000, now: () => 0 });
    const calls = 60;
    await Promise.all(Array.from({ length: calls }, () => rejection(client.get("/a"))));
    // The budget starts full with ten retries and gains one for every five calls; the first ten calls add nothing to it.
    expect(upstream.received.length).to.be.within(calls + 10, calls + 10 + calls * 0.2);
  });

  it("are not made with a budget of 0", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(503).end());
    await using client = clientOf(upstream.url, { retryBudget: 0 });
    await rejection(client.get("/a"));
    expect(upstream.received).to.have.length(1);
  });
});

describe("createRetryBudget()", () => {
  it("allows ten retries in one burst, then one per second and one per five calls", () => {
    let now = 0;
    const budget = createRetryBudget(0.2, () => now);
    const taken = (): number => {
      let count = 0;
      while (budget.take()) count += 1;
      return count;
    };
    expect(taken()).to.equal(10);
    for (let call = 0; call < 25; call++) budget.called();
    expect(taken()).to.equal(5);
    now = 3_000;
    expect(taken()).to.equal(3);
    now = 1_000_000;
    expect(taken()).to.equal(10);
    now = 0;
    expect(taken()).to.equal(0);
  });
});

describe("waitAfter()", () => {
  // The type of the headers does not show that undici returns a header that is sent twice as a list.
  const answer = (status: number, retryAfter?: string | readonly string[]) => ({
    status,
    headers: retryAfter === undefined ? {} : { "retry-after": retryAfter as string },
    chunks: [],
    body: undefined,
  });

  it("is between 0.1 and 2 s, with jitter", () => {
    for (let tries = 1; tries < 10; tries++) {
      const wait = waitAfter(answer(503), tries);
      expect(wait).to.be.within(100, Math.min(2_000, 200 * 2 ** (tries - 1)));
    }
  });

  it("is at least the time in Retry-After, in seconds or as a date", () => {
    expect(waitAfter(answer(503, "30"), 1)).to.equal(30_000);
    const date = new Date(Date.now() + 20_000).toUTCString();
    expect(waitAfter(answer(429, date), 1)).to.be.within(15_000, 20_000);
    for (const wrong of ["soon", "-1", "1.5e9", "", " 2026", "2026 2026"])
      expect(waitAfter(answer(503, wrong), 1)).to.be.below(2_001);
  });

  it("is undefined if Retry-After is longer than 30 s", () => {
    for (const long of ["31", "999999999", "9999999999", "9".repeat(400)])
      expect(waitAfter(answer(503, long), 1), long).to.equal(undefined);
  });

  it("is that of the first Retry-After if it was sent twice", () => {
    expect(waitAfter(answer(503, ["3600", "1"]), 1)).to.equal(undefined);
    expect(waitAfter(answer(503, ["20", "3600"]), 1)).to.equal(20_000);
  });

  it("is at least the time in Retry-After as a date of asctime(), which is in UTC", () => {
    const zone = process.env["TZ"];
    try {
      for (const name of ["Asia/Tokyo", "America/Lima"]) {
        process.env["TZ"] = name;
        const [, day, month, year, time] = new Date(Date.now() + 20_000).toUTCString().split(/,? /);
        const date = `Sun ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
        expect(waitAfter(answer(503, date), 1), date).to.be.within(15_000, 20_000);
      }
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  });
});

describe("the circuit breaker of a client", () => {
  it("opens after five consecutive failures, rejects calls, and closes after a trial", async () => {
    let now = 1000;
    let status = 503;
    await using upstream = await openUpstream((res) => res.writeHead(status).end());
    await using client = clientOf(upstream.url, { attempts: 1, now: () => now, totalTimeoutSeconds: 60 });
    const check = client.readiness();
    const ready = async () => check.check(new AbortController().signal);
    expect(check).to.include({ name: "http:billing", critical: false });
    for (let call = 0; call < 5; call++) {
      expect(await ready()).to.deep.equal({
        healthy: true,
        detail: "answering",
        meta: { calls: 0, waiting: 0 },
      });
      await rejection(client.get("/a"));
    }
    expect(await ready()).to.deep.include({
      healthy: false,
      detail: "not answering; the next call is possible in 15 s",
    });
    const refused = (await rejection(client.get("/a"))) as Error as ProblemError;
    expect(refused).to.include({ status: 503, detail: "the service 'billing' is not answering" });
    expect(refused.headers).to.deep.equal({ "Retry-After": "15" });
    expect(upstream.received).to.have.length(5);
    now += 15_000;
    status = 200;
    expect(await ready()).to.deep.include({
      healthy: true,
      detail: "the last calls failed; the next call is a trial",
    });
    await client.get("/a");
    expect(await ready()).to.deep.include({ healthy: true, detail: "answering" });
  });

  it("is healthy after the cool-down even without a call, and unhealthy again when the trial fails", async () => {
    let now = 1000;
    await using upstream = await openUpstream((res) => res.writeHead(503).end());
    await using client = clientOf(upstream.url, {
      attempts: 1,
      breakerFailures: 1,
      critical: true,
      now: () => now,
    });
    const ready = () => client.readiness().check(new AbortController().signal);
    await rejection(client.get("/a"));
    now += 14_999;
    expect(await ready()).to.include({
      healthy: false,
      detail: "not answering; the next call is possible in 1 s",
    });
    now += 1;
    expect(await ready()).to.include({ healthy: true });
    await rejection(client.get("/a"));
    expect(await ready()).to.include({
      healthy: false,
      detail: "not answering; the next call is possible in 15 s",
    });
  });

  for (const isStreamed of [false, true]) {
    it(`does not count ${isStreamed ? "streamed " : ""}calls that end at a time limit of the caller`, async () => {
      await using upstream = await openUpstream((res, _count, req) => {
        if (req.url !== "/hang") res.end("ok");
      });
      await using client = clientOf(upstream.url, { attempts: 1, breakerFailures: 2 });
      const context = new RequestContext();
      context.deadline = performance.now() + 25_000;
      const send = (options: CallOptions) =>
        isStreamed ? client.stream("GET", "/hang", options) : client.get("/hang", options);
      const errors = await atTimeLimit(upstream, [
        ...[1, 2, 3].map(() => () => send({ totalTimeoutSeconds: 25 })),
        ...[1, 2, 3].map(() => () => runWithContext(context, () => send({}))),
      ]);
      expect(upstream.received).to.have.length(6);
      for (const error of errors) expect(error).to.include({ status: 504 });
      expect(await client.readiness().check(new AbortController().signal)).to.include({
        detail: "answering",
      });
      expect((await client.get("/a")).status).to.equal(200);
    });
  }

  it("allows another trial after the caller's time limit ended a trial", async () => {
    let now = 1000;
    await using upstream = await openUpstream((res, count) => {
      if (count !== 2) res.writeHead(count === 1 ? 503 : 200).end();
    });
    await using client = clientOf(upstream.url, { attempts: 1, breakerFailures: 1, now: () => now });
    await rejection(client.get("/a"));
    now += 15_000;
    const [error] = await atTimeLimit(upstream, [() => client.get("/a", { totalTimeoutSeconds: 25 })]);
    expect(error).to.include({ status: 504 });
    expect((await client.get("/a")).status).to.equal(200);
  });

  for (const [limit, response] of [
    ["headersTimeoutSeconds", undefined],
    ["bodyTimeoutSeconds", "a"],
  ] as const) {
    it(`counts calls that exceed ${limit}`, async () => {
      await using upstream = await openUpstream((res) => {
        if (response !== undefined) res.writeHead(200).write(response);
      });
      await using client = clientOf(upstream.url, { attempts: 1, breakerFailures: 1, [limit]: 0.05 });
      expect(await rejection(client.get("/a"))).to.include({ status: 504 });
      expect(await client.readiness().check(new AbortController().signal)).to.include({ healthy: false });
    });
  }

  it("counts connections that cannot be made, and does not count other errors of the upstream or the caller", async () => {
    await using refused = clientOf(await closedUrl(), { attempts: 1, breakerFailures: 1 });
    await rejection(refused.get("/a"));
    expect((await refused.readiness().check(new AbortController().signal)).healthy).to.equal(false);
    await using upstream = await openUpstream((res, _count, req) => {
      if (req.url === "/hang") return;
      res.writeHead(Number(req.url?.slice(1))).end("too long a body");
    });
    await using client = clientOf(upstream.url, { attempts: 1, breakerFailures: 1, maxBodyBytes: 3 });
    await rejection(client.get("/500"));
    await rejection(client.get("/200"));
    const controller = new AbortController();
    const call = rejection(client.get("/hang", { signal: controller.signal }));
    await until("the request has arrived", () => upstream.received.length === 3);
    controller.abort(new Error("left"));
    await call;
    expect((await client.readiness().check(new AbortController().signal)).healthy).to.equal(true);
  });

  it("stops the retries of a call", async () => {
    await using upstream = await openUpstream((res) => res.writeHead(503).end());
    await using client = clientOf(upstream.url, { attempts: 10, breakerFailures: 2 });
    await rejection(client.get("/a"));
    expect(upstream.received).to.have.length(2);
  });

  it("rejects a streamed call if it opens while the call waits for its next try", async () => {
    await using upstream = await openUpstream((res, _count, req) => {
      if (req.url === "/fail") res.writeHead(503).end();
      else res.writeHead(429, { "Retry-After": "1" }).end("too many");
    });
    await using client = clientOf(upstream.url, { attempts: 10, breakerFailures: 1 });
    const streamed = rejection(client.stream("GET", "/a"));
    await until("the request has arrived", () => upstream.received.length === 1);
    await rejection(client.post("/fail"));
    const error = await streamed;
    expect(error).to.include({ status: 503, detail: "the service 'billing' is not answering" });
    expect((error.cause as Error).message).to.equal("the circuit breaker is open");
  });

  it("is critical for readiness only if the client is critical", async () => {
    await using client = clientOf("http://127.0.0.1:9", { critical: true });
    expect(client.readiness().critical).to.equal(true);
  });
});

describe("the limit of concurrent calls", () => {
  it("queues further calls in order, and rejects calls that wait too long", async () => {
    const held: (() => void)[] = [];
    await using upstream = await openUpstream((res) => void held.push(() => res.end()));
    await using client = clientOf(upstream.url, { maxConcurrentCalls: 2, maxWaitSeconds: 60 });
    const order: number[] = [];
    const calls = [1, 2, 3, 4].map(async (call) => {
      await client.get(`/${call}`);
      order.push(call);
    });
    await until("two requests have arrived", () => held.length === 2);
    const { meta } = await client.readiness().check(new AbortController().signal);
    expect(meta).to.deep.equal({ calls: 2, waiting: 2 });
    for (let ended = 0; ended < 4; ended++) {
      await until("the next request has arrived", () => held.length > ended);
      held[ended]?.();
      await until("it has ended", () => order.length === ended + 1);
    }
    await Promise.all(calls);
    expect(order).to.deep.equal([1, 2, 3, 4]);

    await using impatient = clientOf(upstream.url, {
      maxConcurrentCalls: 1,
      maxWaitSeconds: 0.02,
      attempts: 1,
    });
    const first = impatient.get("/first");
    await until("the first request has arrived", () => held.length === 5);
    const refused = (await rejection(impatient.get("/second"))) as Error as ProblemError;
    expect(refused).to.include({ status: 503, code: "ERR_SVC_UPSTREAM_UNAVAILABLE" });
    expect((refused.cause as Error).message).to.equal("too many calls at the same time");
    held[4]?.();
    await first;
    expect(upstream.received).to.have.length(5);
  });

  it("ends the wait with 504 at the time limit of the call, and at the deadline of the current request", async () => {
    const held: (() => void)[] = [];
    await using upstream = await openUpstream((res) => void held.push(() => res.end()));
    await using client = clientOf(upstream.url, { maxConcurrentCalls: 1, maxWaitSeconds: 60 });
    const first = client.get("/first");
    await until("the first request has arrived", () => held.length === 1);
    const context = new RequestContext();
    context.deadline = performance.now() + 50;
    for (const error of await Promise.all([
      rejection(client.get("/limited", { totalTimeoutSeconds: 0.05 })),
      runWithContext(context, () => rejection(client.get("/due"))),
    ])) {
      expect(error).to.include({ status: 504, code: "ERR_SVC_UPSTREAM_TIMEOUT" });
    }
    expect(await client.readiness().check(new AbortController().signal)).to.deep.include({
      meta: { calls: 1, waiting: 0 },
    });
    held[0]?.();
    await first;
    expect(upstream.received).to.have.length(1);
  });

  it("removes a waiting call whose signal aborts", async () => {
    const held: (() => void)[] = [];
    await using upstream = await openUpstream((res) => void held.push(() => res.end()));
    await using client = clientOf(upstream.url, { maxConcurrentCalls: 1, maxWaitSeconds: 60 });
    const first = client.get("/first");
    await until("the first request has arrived", () => held.length === 1);
    const controller = new AbortController();
    const second = rejection(client.get("/second", { signal: controller.signal }));
    controller.abort(new Error("left"));
    expect((await second).message).to.equal("left");
    held[0]?.();
    await first;
    const third = client.get("/third");
    await until("the third request has arrived", () => held.length === 2);
    held[1]?.();
    await third;
    expect(upstream.received.map(({ url }) => url)).to.deep.equal(["/first", "/third"]);
  });
});

describe("stop()", () => {
  it("waits for running calls and rejects further calls", async () => {
    const held: (() => void)[] = [];
    await using upstream = await openUpstream((res) => void held.push(() => res.end("ok")));
    const client = clientOf(upstream.url);
    const call = client.get("/a");
    await until("the request has arrived", () => held.length === 1);
    const stopped = client.stop();
    const refused = (await rejection(client.get("/b"))) as Error as ProblemError;
    expect(refused).to.include({ status: 503 });
    expect((refused.cause as Error).message).to.equal("the client is stopped");
    held[0]?.();
    expect((await call).text()).to.equal("ok");
    await stopped;
    await client.stop();
  });

  it("ends calls that wait for their next try, and for a free slot", async () => {
    const held: (() => void)[] = [];
    await using upstream = await openUpstream((res, _count, req) => {
      if (req.url === "/hold") held.push(() => res.writeHead(503).end());
      else res.writeHead(503, { "Retry-After": "20" }).end();
    });
    const { logger, logged } = recordingLogger();
    const client = clientOf(upstream.url, {
      maxConcurrentCalls: 2,
      maxWaitSeconds: 60,
      breakerFailures: 1,
      logger,
    });
    const running = rejection(client.get("/hold"));
    const repeated = rejection(client.get("/a"));
    const waiting = rejection(client.get("/b"));
    await until("both requests have arrived", () => upstream.received.length === 2);
    await until("the first response has arrived", () => logged.length === 1);
    const stopped = client.stop();
    for (const error of await Promise.all([repeated, waiting])) {
      expect(error).to.include({ status: 503, detail: "the service 'billing' is not answering" });
      expect((error.cause as Error).message).to.equal("the client is stopped");
    }
    // A call that is running is not retried after stop().
    held[0]?.();
    expect(((await running).cause as Error).message).to.equal("status 503");
    await stopped;
    expect(upstream.received).to.have.length(2);
  });

  it("ends calls that are still running after 5 s with their own cause, and does not count them", async () => {
    const { logger, logged } = recordingLogger();
    await using upstream = await openUpstream((res, _count, req) => {
      if (req.url === "/stream") res.writeHead(200).write("a");
    });
    const client = clientOf(upstream.url, { breakerFailures: 1, logger });
    const { body } = await client.stream("GET", "/stream");
    const read = rejection(body.toArray());
    const call = rejection(client.get("/hang"));
    await until("both requests have arrived", () => upstream.received.length === 2);
    await client.stop();
    for (const error of await Promise.all([read, call])) {
      expect(error).to.include({ status: 503, detail: "the service 'billing' is not answering" });
      expect((error.cause as Error).message).to.equal("the client is stopped");
    }
    expect(logged).to.deep.equal([]);
  });

  it("needs no call before it, and rejects the calls after it", async () => {
    await using upstream = await openUpstream((res) => res.end());
    const client = clientOf(upstream.url);
    await client.stop();
    expect(((await rejection(client.get("/a"))).cause as Error).message).to.equal("the client is stopped");
    expect(upstream.received).to.deep.equal([]);
  });
});
