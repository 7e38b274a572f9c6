import { jobStop } from "../job-stop.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("job-stop", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(jobStop, { variant: name }));
    };
    [built] = await Promise.all([quickRun(jobStop), ...jobStop.brokenVariants.map(variant)]);
  });

  it("JOB-11 finishes running jobs after SIGTERM, or releases them with their attempt restored", () => {
    expectHeld(built);
  });

  for (const [variant, rule] of [
    ["broken-exit-at-once", /no job keeps a lease/],
    ["broken-keeps-attempts", /each running job is finished, or released/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, rule);
    });
  }
});
