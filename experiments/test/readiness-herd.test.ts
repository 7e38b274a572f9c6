import { readinessHerd } from "../readiness-herd.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("readiness-herd", function () {
  this.timeout(60_000);

  it("RDY-9 RDY-10 runs a check at most three times in two seconds for a hundred pollers", async () => {
    expectHeld(await quickRun(readinessHerd));
  });

  it("fails when every poll runs the check", async () => {
    expectBroken(await quickRun(readinessHerd, { variant: "broken-naive" }), /probes/);
  });
});
