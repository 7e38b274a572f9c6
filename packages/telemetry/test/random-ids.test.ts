import { expect } from "chai";
import { createRandomIds } from "../src/random-ids.ts";

describe("createRandomIds()", () => {
  it("TRACE-7 returns unique ids in W3C Trace Context format, also across blocks of random bytes", () => {
    const ids = createRandomIds();
    const traceIds = Array.from({ length: 1000 }, () => ids.generateTraceId());
    const spanIds = Array.from({ length: 1000 }, () => ids.generateSpanId());
    for (const id of traceIds) expect(id).to.match(/^[0-9a-f]{32}$/);
    for (const id of spanIds) expect(id).to.match(/^[0-9a-f]{16}$/);
    expect(new Set([...traceIds, ...spanIds]).size).to.equal(2000);
  });

  it("TRACE-28 returns ids whose digits all occur about equally often", () => {
    const ids = createRandomIds();
    const counts = new Map<string, number>();
    for (let index = 0; index < 2000; index++) {
      for (const digit of ids.generateTraceId()) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    }
    expect(counts.size).to.equal(16);
    // The expected value is 4,000, with a standard deviation of 61.
    for (const count of counts.values()) expect(count).to.be.within(3400, 4600);
  });
});
