import { expect } from "chai";
import { createFairly } from "../harness/fairly.ts";
import type { Lateness } from "../harness/lateness.ts";

describe("fairly()", () => {
  /** Late for so long, at one moment of `performance.now()`. */
  const lateFor = (ms: number, at = performance.now()): Pick<Lateness, "longestMs"> => ({
    longestMs: (from, to) => (from <= at && at <= to ? ms : 0),
  });
  const turns = (fairly: ReturnType<typeof createFairly>, mayComeOfIt: (turn: number) => boolean) =>
    fairly(async (turn) => turn, mayComeOfIt);

  it("does again what may come of something that was late, and nothing else", async () => {
    const fairly = createFairly(lateFor(500), 1);
    expect(await turns(fairly, () => false)).to.equal(0);
    expect(await turns(fairly, (turn) => turn < 2)).to.equal(2);
    expect(fairly.again).to.equal(2);
  });

  it("takes what comes when a run has done so eight times, whatever that is", async () => {
    const fairly = createFairly(lateFor(500), 1);
    expect(await turns(fairly, (turn) => turn < 3)).to.equal(3);
    expect(await turns(fairly, () => true)).to.equal(5);
    expect(await turns(fairly, () => true)).to.equal(0);
    expect(fairly.again).to.equal(8);
  });

  it("takes what comes where nothing was late, or not for long, or long ago", async () => {
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
