import { startRedis, testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { watchLateness, watchRedis } from "../harness/lateness.ts";

/** The rounding error of summed differences of moments, in milliseconds. */
const rounding = 1e-6;

describe("watchLateness()", function () {
  this.timeout(60_000);

  it("returns the time and the length of this process's stall, at once and later", async () => {
    using lateness = watchLateness();
    await delay(100);
    const from = performance.now();
    while (performance.now() < from + 600);
    const to = performance.now();
    for (const when of ["at once", "later"]) {
      expect(lateness.longestMs(from, to), when).to.be.within(500, to - from);
      expect(lateness.totalMs(from, to), when).to.equal(lateness.longestMs(from, to));
      await delay(100);
    }
    const half = from + 300;
    expect(lateness.longestMs(half, to), "its end").to.be.within(200, to - half);
    expect(lateness.longestMs(to + 1e6, to + 2e6), "another time").to.equal(0);
  });

  it("returns the delay of a watched process until the watch ends", async () => {
    using lateness = watchLateness();
    const from = performance.now();
    const late = lateness.watch(() => delay(500));
    using _later = lateness.watch(() => delay(900));
    await delay(700);
    const now = performance.now();
    expect(lateness.longestMs(from, now), "one that has not answered").to.be.at.least(690);
    late[Symbol.dispose]();
    expect(lateness.longestMs(from, now), "the other").to.be.at.least(690);
    expect(lateness.totalMs(from, now), "both at once").to.be.at.most(now - from + rounding);
    using _over = lateness.watch(() => Promise.reject(new Error("it has ended")));
    await delay(300);
    expect(lateness.longestMs(now + 1000, now + 2000)).to.equal(0);
  });
});

describe("watchLateness() of a Redis", function () {
  this.timeout(60_000);
  testProgram("redis");

  it("measures a frozen Redis", async () => {
    await using redis = await startRedis();
    using lateness = watchLateness();
    using _ = watchRedis(lateness, redis.url);
    await delay(100);
    const from = performance.now();
    process.kill(redis.pid, "SIGSTOP");
    await delay(600);
    process.kill(redis.pid, "SIGCONT");
    await delay(100);
    expect(lateness.longestMs(from, performance.now())).to.be.at.least(500);
  });
});
