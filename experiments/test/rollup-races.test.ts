import { rollupRaces } from "../rollup-races.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rollup-races", function () {
  this.timeout(120_000);

  it("ROLL-2 ROLL-3 makes every bucket equal to its rows after concurrent writes and refreshes", async () => {
    expectHeld(await quickRun(rollupRaces));
  });

  for (const [variant, what] of [
    ["broken-one-statement", "a lock taken by the statement that computes the totals"],
    ["broken-one-side", "a refresh of only the new bucket of a moved row"],
    ["broken-swallowed-jobs", "a single job for several writes, some of which it might not see"],
  ] as const) {
    it(`fails with ${what}`, async () => {
      expectBroken(await quickRun(rollupRaces, { variant }), /every bucket equals its rows/);
    });
  }
});
