import { databaseStall } from "../database-stall.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("database-stall", function () {
  this.timeout(120_000);

  it("RDY-5 RDY-13 SYS-4 keeps every deadline while PostgreSQL is frozen or gone, and heals", async () => {
    expectHeld(await quickRun(databaseStall));
  });

  it("fails with the defaults of the pool", async () => {
    const report = await quickRun(databaseStall, { variant: "broken-pool-defaults" });
    expectBroken(report, /frozen: no request waits longer/);
  });
});
