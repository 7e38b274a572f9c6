import { memorySoak } from "../memory-soak.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("memory-soak", function () {
  this.timeout(120_000);

  it("MET-9 MET-10 keeps memory and metric series constant over requests that are all different", async () => {
    expectHeld(await quickRun(memorySoak));
  });

  it("fails for a cache without bound", async () => {
    expectBroken(await quickRun(memorySoak, { variant: "broken-cache", seconds: 3 }), /memory grows/);
  });

  it("fails for a metric by path", async () => {
    expectBroken(await quickRun(memorySoak, { variant: "broken-labels", seconds: 3 }), /metric series/);
  });
});
