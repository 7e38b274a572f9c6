import { rollupDrift } from "../rollup-drift.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rollup-drift", function () {
  this.timeout(120_000);

  it("ROLL-2 finds every bucket that was changed by hand and no other bucket, and repairs them", async () => {
    expectHeld(await quickRun(rollupDrift, { seed: 2 }));
  });

  it("fails with a verification of only the current month", async () => {
    const variant = "broken-verify-of-one-month";
    expectBroken(await quickRun(rollupDrift, { variant, seed: 2 }), /finds every bucket/);
  });
});
