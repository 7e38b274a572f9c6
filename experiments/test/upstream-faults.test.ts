import { upstreamFaults } from "../upstream-faults.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("upstream-faults", function () {
  this.timeout(120_000);

  it("HTTP-2 HTTP-3 ends calls in time, within the budget of retries, and recovers", async () => {
    expectHeld(await quickRun(upstreamFaults));
  });

  it("fails when a POST is sent again", async () => {
    expectBroken(await quickRun(upstreamFaults, { variant: "broken-retries-posts" }), /POST arrives twice/);
  });

  it("fails when retries have no budget", async () => {
    expectBroken(
      await quickRun(upstreamFaults, { variant: "broken-no-budget" }),
      /retries are in their budget/,
    );
  });
});
