import { memorySoak } from "../memory-soak.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("memory-soak", function () {
  this.timeout(120_000);

  it("MET-9 MET-10 keeps memory and metric series constant while all requests differ", async () => {
    expectHeld(await quickRun(memorySoak));
  });

  it("fails for an unbounded cache", async () => {
    expectBroken(await quickRun(memorySoak, { variant: "broken-cache", seconds: 3 }), /memory grows/);
  });

  it("fails for a metric labelled by path", async () => {
    expectBroken(await quickRun(memorySoak, { variant: "broken-labels", seconds: 3 }), /metric series/);
  });
});
