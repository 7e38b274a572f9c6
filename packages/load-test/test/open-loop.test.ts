import { loadTest, type LoadTestOptions, type StepReport } from "@svc/load-test";
import { expect } from "chai";
import { startTarget, type TargetOptions } from "./support/target.ts";

async function stepAgainst(target: TargetOptions, options: Partial<LoadTestOptions>): Promise<StepReport> {
  await using started = await startTarget(target);
  const { steps } = await loadTest({ url: started.url, clients: [1], warmUpSeconds: 0, ...options });
  return steps[0] as StepReport;
}

/** A target that responds immediately, except to the second request, after 400 ms. */
function stallingOnce(): TargetOptions {
  let count = 0;
  return { answer: (_, res) => void (count++ === 1 ? setTimeout(() => res.end(), 400) : res.end()) };
}

describe("the open loop", () => {
  it("LOAD-2 sends --rate requests per second, regardless of the number of clients", async () => {
    for (const clients of [1, 8]) {
      const step = await stepAgainst({}, { clients: [clients], rate: 200, seconds: 0.3 });
      expect(step.requests + step.unsent).to.be.within(59, 60);
      expect([step.loop, step.errorRate]).to.deep.equal(["open", 0]);
    }
  });

  it("measures latencies from the due time, so that a stall delays all requests that were due during it", async () => {
    const closed = await stepAgainst(stallingOnce(), { seconds: 0.6 });
    const open = await stepAgainst(stallingOnce(), { seconds: 0.6, rate: 200 });
    // One request of the closed loop is slow. In the open loop two thirds of the requests are due in the stall, and a
    // busy machine only makes them later.
    expect(closed.latencyUs.max).to.be.at.least(390_000);
    expect(closed.latencyUs.p50).to.be.below(open.latencyUs.p50);
    expect(open.latencyUs.p50).to.be.at.least(100_000);
    expect(open.latencyUs.p95).to.be.at.least(300_000);
  });

  it("counts requests that were due but not sent, with the time that they waited", async () => {
    const step = await stepAgainst(
      { answer: () => undefined },
      { rate: 100, seconds: 0.3, timeoutSeconds: 0.4 },
    );
    expect([step.requests, step.errors.timeout]).to.deep.equal([1, 1]);
    expect(step.unsent).to.be.within(28, 29);
    expect(step.latencyUs.p50).to.be.within(120_000, 180_000);
  });

  it("excludes the requests that were due in the warm-up", async () => {
    const step = await stepAgainst({}, { rate: 100, seconds: 0.2, warmUpSeconds: 0.2 });
    expect(step.requests + step.unsent).to.be.within(19, 21);
  });
});
