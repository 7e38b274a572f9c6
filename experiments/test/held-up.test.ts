import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { watchHeldUp } from "../harness/held-up.ts";

describe("watchHeldUp()", () => {
  /** Blocks the event loop, as a busy machine would. */
  function stall(ms: number): readonly [from: number, to: number] {
    const from = performance.now();
    while (performance.now() < from + ms);
    return [from, performance.now()];
  }

  it("returns how long the process stalled between two moments", async () => {
    using heldUp = watchHeldUp();
    await delay(30);
    const [from, to] = stall(400);
    expect(heldUp.between(from, to), "at once").to.be.within(300, to - from);
    await delay(30);
    expect(heldUp.between(from, to), "later").to.be.within(350, to - from);
    const half = from + 200;
    expect(heldUp.between(half, to), "its second half").to.be.within(150, to - half);
    expect(heldUp.between(to + 1e6, to + 2e6), "another time").to.equal(0);
  });
});
