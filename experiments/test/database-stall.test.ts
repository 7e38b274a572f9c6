import { databaseStall } from "../database-stall.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("database-stall", function () {
  this.timeout(120_000);

  let built: Collected;
  let broken: Collected;

  // The runs mostly wait, so run both concurrently.
  before(async () => {
    [built, broken] = await Promise.all([
      quickRun(databaseStall),
      quickRun(databaseStall, { variant: "broken-pool-defaults" }),
    ]);
  });

  it("RDY-5 RDY-13 SYS-4 keeps every deadline while PostgreSQL is frozen or killed, and recovers", () => {
    expectHeld(built);
  });

  it("fails with the pool's defaults", () => {
    expectBroken(broken, /frozen: no request waits longer/);
  });
});
