import { readinessHerd } from "../readiness-herd.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("readiness-herd", function () {
  this.timeout(60_000);

  it("RDY-9 RDY-10 asks a dependency at most three times for a hundred pollers in two seconds", async () => {
    expectHeld(await quickRun(readinessHerd));
  });

  it("fails when every poll asks the dependency", async () => {
    expectBroken(await quickRun(readinessHerd, { variant: "broken-naive" }), /probes/);
  });
});
