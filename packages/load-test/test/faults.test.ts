import { type LoadReport, loadTest, type LoadTestOptions, type StepReport } from "@svc/load-test";
import { expect } from "chai";
import type { Socket } from "node:net";
import { startRawTarget, writeForever } from "./support/raw-target.ts";
import { startTarget, type TargetOptions } from "./support/target.ts";

/** A short run, in which a busy machine causes no time-outs and no break. */
const fast = { clients: [2], seconds: 0.1, warmUpSeconds: 0, maxP99Ms: 60_000 };
const impatient = { ...fast, timeoutSeconds: 0.1 };
const noErrors = { serverErrors: 0, tooManyRequests: 0, refused: 0, reset: 0, timeout: 0, badAnswer: 0 };

function onlyStep({ steps }: LoadReport): StepReport {
  expect(steps).to.have.length(1);
  return steps[0] as StepReport;
}

async function stepAgainst(options: TargetOptions, more: Partial<LoadTestOptions> = {}): Promise<StepReport> {
  await using target = await startTarget(options);
  return onlyStep(await loadTest({ url: target.url, ...fast, ...more }));
}

async function stepAgainstRaw(
  answer: (socket: Socket) => void,
  options: Partial<LoadTestOptions> = fast,
): Promise<StepReport> {
  await using target = await startRawTarget(answer);
  return onlyStep(await loadTest({ url: target.url, ...options }));
}

/** Checks that all requests of a step ended with one kind of error. */
function expectOnly(step: StepReport, kind: keyof StepReport["errors"]): void {
  expect(step.requests).to.be.above(0);
  expect(step.errors).to.deep.equal({ ...noErrors, [kind]: step.requests });
  expect([step.errorRate, step.successes]).to.deep.equal([100, 0]);
  expect(step.broken).to.include("100.00 % of errors is over 1 %");
}

describe("the responses of a step", () => {
  for (const [status, kind] of [
    [500, "serverErrors"],
    [503, "serverErrors"],
    [429, "tooManyRequests"],
  ] as const) {
    it(`LOAD-6 count as errors with ${status}`, async () => {
      const step = await stepAgainst({ answer: (_, res) => res.writeHead(status).end() });
      expectOnly(step, kind);
      expect(step.statuses).to.deep.equal({ [status]: step.requests });
    });
  }

  for (const status of [301, 401, 404, 304]) {
    it(`LOAD-6 count as other responses, not as errors, with ${status}`, async () => {
      const step = await stepAgainst({ answer: (_, res) => res.writeHead(status).end() });
      expect(step.requests).to.be.above(0);
      expect([step.others, step.successes, step.errorRate]).to.deep.equal([step.requests, 0, 0]);
      expect([step.errors, step.broken]).to.deep.equal([noErrors, []]);
    });
  }

  it("count as redirects, which are not followed to another origin or path", async () => {
    await using other = await startTarget();
    await using target = await startTarget({
      answer: (req, res) =>
        res.writeHead(302, { location: req.url === "/items" ? `${other.url}/items` : "/items" }).end(),
    });
    const step = onlyStep(await loadTest({ url: target.url, ...fast }));
    expect(step.statuses).to.deep.equal({ 302: step.requests });
    expect(other.requests).to.deep.equal([]);
    expect(new Set(target.received)).to.deep.equal(new Set(["GET /items"]));
  });

  it("have ordered percentiles in microseconds", async () => {
    const { latencyUs, requestsPerSecond, seconds } = await stepAgainst({});
    const { p50, p95, p99, max } = latencyUs;
    expect(p50).to.be.above(0);
    expect([p50, p95, p99, max]).to.deep.equal([p50, p95, p99, max].toSorted((a, b) => a - b));
    expect(requestsPerSecond).to.be.above(0);
    expect(seconds).to.be.closeTo(0.1, 0.01);
  });

  it("do not include those of the warm-up", async () => {
    let answers = 0;
    const step = await stepAgainst(
      { answer: (_, res) => res.writeHead(answers++ === 0 ? 500 : 200).end() },
      { warmUpSeconds: 0.2 },
    );
    expect(answers).to.be.above(step.requests);
    expect(step.errors.serverErrors).to.equal(0);
  });
});

describe("the failures of a step", () => {
  it("LOAD-6 are resets if the connection ends without a response", async () => {
    expectOnly(await stepAgainstRaw((socket) => socket.resetAndDestroy()), "reset");
    expectOnly(await stepAgainstRaw((socket) => socket.end()), "reset");
  });

  it("LOAD-6 are refused connections if the service stops listening, and cost little CPU time", async () => {
    await using target = await startTarget();
    // The server responds to the request for the description, and accepts no other connection.
    target.server.once("request", () => target.server.close());
    const step = onlyStep(await loadTest({ url: target.url, ...fast }));
    expectOnly(step, "refused");
    // A client waits 100 ms after a failure.
    expect(step.requests).to.be.at.most(4);
    expect(step.readiness?.failure).to.match(/^GET \/ready failed: connect ECONNREFUSED/);
  });

  it("LOAD-6 are time-outs with the time limit as their latency if the service does not respond", async () => {
    const step = await stepAgainstRaw(() => undefined, impatient);
    expectOnly(step, "timeout");
    expect(step.latencyUs.p50).to.be.within(100_000, 10_000_000);
    expect(step.requestsPerSecond).to.equal(0);
  });

  it("LOAD-6 are time-outs if interim responses never end", async () => {
    expectOnly(
      await stepAgainstRaw((socket) => writeForever(socket, "HTTP/1.1 103 Early Hints\r\n\r\n"), impatient),
      "timeout",
    );
  });

  it("LOAD-6 are time-outs if the body never ends", async () => {
    const step = await stepAgainstRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      writeForever(socket, "1\r\nx\r\n");
    }, impatient);
    expectOnly(step, "timeout");
  });

  it("LOAD-6 count as invalid responses if the service does not send valid HTTP", async () => {
    for (const text of [
      "nonsense\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      `HTTP/1.1 200 OK\r\nX: ${"x".repeat(40_000)}\r\n\r\n`,
    ])
      expectOnly(await stepAgainstRaw((socket) => socket.write(text)), "badAnswer");
  });

  it("LOAD-6 are resets or invalid responses if the body is shorter than its Content-Length", async () => {
    const step = await stepAgainstRaw((socket) =>
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
    );
    expect(step.errors.reset + step.errors.badAnswer).to.equal(step.requests);
    expect([step.requests > 0, step.successes, step.errorRate]).to.deep.equal([true, 0, 100]);
  });

  it("do not include a response that is longer than its Content-Length", async () => {
    const connections = new Set<Socket>();
    const step = await stepAgainstRaw((socket) => {
      connections.add(socket);
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nlonger");
    });
    // The excess bytes end the connection, which fails the next request only if it was already sent.
    expect(step.successes).to.be.above(0).and.equal(connections.size);
    expect(step.successes + step.errors.badAnswer + step.errors.reset).to.equal(step.requests);
  });

  it("LOAD-3 break the step in which they occur, which brokeAt names", async () => {
    let waiting = 0;
    await using target = await startTarget({
      answer: (_, res) => {
        waiting++;
        setImmediate(() => {
          res.writeHead(waiting > 2 ? 503 : 200).end();
          waiting--;
        });
      },
    });
    const report = await loadTest({ url: target.url, ...fast, clients: [1, 20] });
    expect(report.brokeAt).to.equal(20);
    expect(report.steps[0]?.broken).to.deep.equal([]);
  });
});
