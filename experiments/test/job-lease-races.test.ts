import { jobLeaseRaces } from "../job-lease-races.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("job-lease-races", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(jobLeaseRaces, { variant: name }));
    };
    [built] = await Promise.all([quickRun(jobLeaseRaces), ...jobLeaseRaces.brokenVariants.map(variant)]);
  });

  it("JOB-6 JOB-21 JOB-22 rejects a write by an owner whose lease has expired; a job that kills its workers ends up dead", () => {
    expectHeld(built);
  });

  for (const [variant, rule] of [
    ["broken-by-id", /a late owner changes no row/],
    ["broken-by-attempts", /a new job under its id, held: a late owner changes no row/],
    ["broken-for-ever", /each is started max_attempts times/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, rule);
    });
  }
});
