import { leaseRecovery } from "../lease-recovery.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("lease-recovery", function () {
  this.timeout(240_000);

  let built: Collected;
  let broken: Collected;

  // The runs mostly wait for leases to expire, so run both concurrently.
  before(async () => {
    [built, broken] = await Promise.all([
      quickRun(leaseRecovery),
      quickRun(leaseRecovery, { variant: "broken-one-sweep" }),
    ]);
  });

  it("starts the jobs of a killed worker within the limit and before newer jobs (JOB-34 JOB-16)", () => {
    expectHeld(built);
  });

  for (const rule of [
    /while newer jobs arrive: all jobs start again/,
    /while newer jobs arrive: no newer job starts/,
  ]) {
    it(`fails with broken-one-sweep, because it breaks "${rule.source}"`, () => {
      expectBroken(broken, rule);
    });
  }
});
