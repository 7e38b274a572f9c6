import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { createRetry, startStallMonitor } from "../harness/stall-monitor.ts";

describe("startStallMonitor()", () => {
  it("returns how long the plain server stalled", async () => {
    await using stallMonitor = await startStallMonitor();
    await delay(100);
    const from = performance.now();
    process.kill(stallMonitor.pid, "SIGSTOP");
    await delay(600);
    const meanwhile = performance.now();
    expect(stallMonitor.between(from, meanwhile), "at once").to.be.within(300, meanwhile - from);
    process.kill(stallMonitor.pid, "SIGCONT");
    await delay(100);
    expect(stallMonitor.between(from, meanwhile), "later").to.be.within(400, meanwhile - from);
    expect(stallMonitor.between(from - 2e6, from - 1e6), "another time").to.equal(0);
  });

  it("returns how long this process stalled", async () => {
    await using stallMonitor = await startStallMonitor();
    await delay(100);
    const from = performance.now();
    while (performance.now() < from + 500);
    const to = performance.now();
    await delay(200);
    expect(stallMonitor.between(from, to)).to.be.within(350, to - from);
    expect(stallMonitor.longest(from, to)).to.be.within(350, to - from);
  });

  it("shares one plain server among concurrent runs, which the last run stops", async () => {
    const monitors = await Promise.all([startStallMonitor(), startStallMonitor()]);
    const [first, last] = monitors;
    expect(last.pid).to.equal(first.pid);
    await first[Symbol.asyncDispose]();
    expect(last.between(0, performance.now())).to.be.at.least(0);
    await last[Symbol.asyncDispose]();
    expect(() => last.between(0, performance.now())).to.throw("the stall monitor has ended");
    await using next = await startStallMonitor();
    expect(next.pid).to.not.equal(first.pid);
  });

  it("throws after the plain server has exited", async () => {
    await using stallMonitor = await startStallMonitor();
    process.kill(stallMonitor.pid, "SIGKILL");
    await delay(300);
    expect(() => stallMonitor.between(0, performance.now())).to.throw(
      "the stall monitor has ended: it ended with SIGKILL",
    );
  });
});

describe("createRetry()", () => {
  /** Returns a stall monitor that saw a stall of `ms` milliseconds at one moment of `performance.now()`. */
  const stalled = (ms: number, at = performance.now()): Parameters<typeof createRetry>[0] => ({
    longest: (from, to) => (from <= at && at <= to ? ms : 0),
  });

  it("repeats only work whose result a stall may have caused", async () => {
    const retry = createRetry(stalled(500), 1);
    expect(
      await retry(
        async (turn) => turn,
        () => false,
      ),
    ).to.equal(0);
    expect(
      await retry(
        async (turn) => turn,
        () => true,
      ),
    ).to.equal(1);
    expect(retry.discarded).to.equal(1);
  });

  it("returns the second result that a stall may have caused, so that the run fails", async () => {
    const retry = createRetry(stalled(500), 1);
    const works = [0, 0];
    for (const n of works.keys())
      await retry(
        async () => void (works[n] = (works[n] ?? 0) + 1),
        () => true,
      );
    expect(works).to.deep.equal([2, 1]);
    expect(retry.discarded).to.equal(1);
  });

  it("returns the first result if there was no stall, or only a short or old one", async () => {
    const old = performance.now() - 6000;
    for (const stallMonitor of [stalled(0), stalled(300), stalled(5000, old)]) {
      const retry = createRetry(stallMonitor, 1);
      expect(
        await retry(
          async (turn) => turn,
          () => true,
        ),
      ).to.equal(0);
      expect(retry.discarded).to.equal(0);
    }
    const recent = createRetry(stalled(500, performance.now() - 4000), 1);
    expect(
      await recent(
        async (turn) => turn,
        () => true,
      ),
    ).to.equal(1);
  });
});
