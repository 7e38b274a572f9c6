import { jobKills } from "../job-kills.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("job-kills", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(jobKills, { variant: name }));
    };
    [built] = await Promise.all([quickRun(jobKills), ...jobKills.brokenVariants.map(variant)]);
  });

  it("JOB-16 OUT-1 OUT-2 runs every job once despite killed workers and database restarts", () => {
    expectHeld(built);
  });

  for (const [variant, rule] of [
    ["broken-ack-first", /no job is lost/],
    ["broken-no-inbox", /each job takes effect once/],
    ["broken-read-then-write", /no job starts more than once/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, rule);
    });
  }
});
