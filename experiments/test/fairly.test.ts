import { expect } from "chai";
import { createFairly, hasMaybeGivenUp } from "../harness/fairly.ts";

describe("fairly()", () => {
  const turns = (fairly: ReturnType<typeof createFairly>, isInDoubt: (turn: number) => boolean) =>
    fairly(async (turn) => turn, isInDoubt);

  it("does again what is in doubt, and nothing else", async () => {
    const fairly = createFairly(1);
    expect(await turns(fairly, () => false)).to.equal(0);
    expect(await turns(fairly, (turn) => turn < 2)).to.equal(2);
    expect(fairly.again).to.equal(2);
  });

  it("takes what comes when a run has done so eight times, whatever that is", async () => {
    const fairly = createFairly(1);
    expect(await turns(fairly, (turn) => turn < 3)).to.equal(3);
    expect(await turns(fairly, () => true)).to.equal(5);
    expect(await turns(fairly, () => true)).to.equal(0);
    expect(fairly.again).to.equal(8);
  });

  it("doubts what took almost as long as a command may take, and what was refused soon after", () => {
    const [soon, late, away] = [
      { status: 200, ms: 800 },
      { status: 401, ms: 950 },
      { status: 503, ms: 1 },
    ];
    const [never, now] = [Number.NEGATIVE_INFINITY, performance.now()];
    expect(hasMaybeGivenUp([soon, { status: 401, ms: 1 }], now)).to.equal(false);
    expect(hasMaybeGivenUp([soon, late], never)).to.equal(true);
    expect(hasMaybeGivenUp([soon, away], never)).to.equal(false);
    expect(hasMaybeGivenUp([soon, away], now)).to.equal(true);
    expect(hasMaybeGivenUp([soon, away], now - 11_000)).to.equal(false);
  });
});
