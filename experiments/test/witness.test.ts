import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { startWitness } from "../harness/witness.ts";

describe("startWitness()", () => {
  it("returns how long the plain server stalled", async () => {
    await using witness = await startWitness();
    await delay(100);
    const from = performance.now();
    process.kill(witness.pid, "SIGSTOP");
    await delay(600);
    const meanwhile = performance.now();
    expect(witness.between(from, meanwhile), "at once").to.be.within(300, meanwhile - from);
    process.kill(witness.pid, "SIGCONT");
    await delay(100);
    expect(witness.between(from, meanwhile), "later").to.be.within(400, meanwhile - from);
    expect(witness.between(from - 2e6, from - 1e6), "another time").to.equal(0);
  });

  it("returns how long this process stalled", async () => {
    await using witness = await startWitness();
    await delay(100);
    const from = performance.now();
    while (performance.now() < from + 500);
    const to = performance.now();
    await delay(200);
    expect(witness.between(from, to)).to.be.within(350, to - from);
  });

  it("throws after the plain server has ended", async () => {
    await using witness = await startWitness();
    process.kill(witness.pid, "SIGKILL");
    await delay(300);
    expect(() => witness.between(0, performance.now())).to.throw("the witness has ended");
  });
});
