import { expect } from "chai";
import { createFairly } from "../harness/fairly.ts";
import type { Lateness } from "../harness/lateness.ts";

describe("fairly()", () => {
  /** A stall of `ms` milliseconds at one moment of `performance.now()`. */
  const lateFor = (ms: number, at = performance.now()): Pick<Lateness, "longestMs"> => ({
    longestMs: (from, to) => (from <= at && at <= to ? ms : 0),
  });
  const turns = (fairly: ReturnType<typeof createFairly>, mayComeOfIt: (turn: number) => boolean) =>
    fairly(async (turn) => turn, mayComeOfIt);

  it("repeats only work whose result a stall may have caused", async () => {
    const fairly = createFairly(lateFor(500), 1);
    expect(await turns(fairly, () => false)).to.equal(0);
    expect(await turns(fairly, (turn) => turn < 2)).to.equal(2);
    expect(fairly.again).to.equal(2);
  });

  it("returns the last result after eight repetitions in a run", async () => {
    const fairly = createFairly(lateFor(500), 1);
    expect(await turns(fairly, (turn) => turn < 3)).to.equal(3);
    expect(await turns(fairly, () => true)).to.equal(5);
    expect(await turns(fairly, () => true)).to.equal(0);
    expect(fairly.again).to.equal(8);
  });

  it("returns the first result without a stall, or after a short or an old one", async () => {
    for (const lateness of [lateFor(0), lateFor(300), lateFor(5000, performance.now() - 6000)]) {
      const fairly = createFairly(lateness, 1);
      expect(await turns(fairly, () => true)).to.equal(0);
      expect(fairly.again).to.equal(0);
    }
    expect(await turns(createFairly(lateFor(500, performance.now() - 4000), 1), (turn) => turn < 1)).to.equal(
      1,
    );
  });
});
