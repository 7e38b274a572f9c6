import { unlessHeldUp } from "@svc/test-support";
import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";

async function standStill(ms: number): Promise<void> {
  // The watch has begun, and sees the end.
  await sleep(60);
  const end = performance.now() + ms;
  while (performance.now() < end);
  await sleep(60);
}

describe("unlessHeldUp()", function () {
  this.timeout(30_000);

  it("finds out anew what was found while the process stood still, be it an error", async () => {
    let turns = 0;
    const find = async (): Promise<number> => {
      turns += 1;
      if (turns > 2) return turns;
      await standStill(400);
      if (turns === 1) throw new Error("too late");
      return turns;
    };
    expect(await unlessHeldUp(find)).to.be.at.least(3);
  });

  it("lets stand what is good all the same, and what comes in the end", async () => {
    let turns = 0;
    const find = async (): Promise<number> => {
      turns += 1;
      await standStill(300);
      return turns;
    };
    expect(await unlessHeldUp(find, (turn) => turn === 2)).to.equal(2);
    turns = 0;
    expect(await unlessHeldUp(find)).to.equal(6);
  });
});
