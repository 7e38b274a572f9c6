import { rollupRaces } from "../rollup-races.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rollup-races", function () {
  this.timeout(120_000);

  it("ROLL-2 ROLL-3 has every bucket equal to its rows after writers and refreshes that met", async () => {
    expectHeld(await quickRun(rollupRaces));
  });

  for (const [variant, what] of [
    ["broken-one-statement", "a lock in the statement that adds up"],
    ["broken-one-side", "a refresh of the new bucket alone where a row has moved"],
    ["broken-swallowed-jobs", "a job that stands for changes which it may not see"],
  ] as const) {
    it(`fails with ${what}`, async () => {
      expectBroken(await quickRun(rollupRaces, { variant }), /every bucket equals its rows/);
    });
  }
});
