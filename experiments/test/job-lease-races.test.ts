import { jobLeaseRaces } from "../job-lease-races.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("job-lease-races", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // Most of it is waiting, so all can be run at once.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(jobLeaseRaces, { variant: name }));
    };
    [built] = await Promise.all([quickRun(jobLeaseRaces), ...jobLeaseRaces.brokenVariants.map(variant)]);
  });

  it("JOB-6 JOB-21 JOB-22 who outlives its lease changes nothing and is told; a job that kills its workers is dead", () => {
    expectHeld(built);
  });

  for (const [variant, rule] of [
    ["broken-by-id", /who is late changes nothing/],
    ["broken-by-attempts", /a new job under its id, held: who is late changes nothing/],
    ["broken-for-ever", /each is started as often as it may be/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("it was not run");
      expectBroken(report, rule);
    });
  }
});
