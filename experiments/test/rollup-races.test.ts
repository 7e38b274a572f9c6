import type { Collected } from "../harness/report.ts";
import { rollupRaces } from "../rollup-races.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rollup-races", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // No run checks latencies, so run all of them concurrently; they share a server.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(rollupRaces, { variant: name }));
    };
    [built] = await Promise.all([quickRun(rollupRaces), ...rollupRaces.brokenVariants.map(variant)]);
  });

  it("ROLL-2 ROLL-3 makes every bucket equal to its rows after concurrent writes and refreshes, with the package and through the plugin", () => {
    expectHeld(built);
  });

  for (const [variant, part, what] of [
    ["broken-one-statement", "package", "a lock taken by the statement that computes the totals"],
    ["broken-one-statement", "plugin", "a connection that omits the locks"],
    ["broken-one-side", "package", "a refresh of only the new bucket of a moved row"],
    ["broken-one-side", "plugin", "a refresh of only the new bucket of a moved row"],
    ["broken-swallowed-jobs", "package", "a single job for several writes, some of which it might not see"],
    ["broken-swallowed-jobs", "plugin", "a single job for several writes, some of which it might not see"],
  ] as const) {
    it(`fails in the part ${part} with ${what}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, new RegExp(`^${part}, .*: every bucket equals its rows`));
    });
  }
});
