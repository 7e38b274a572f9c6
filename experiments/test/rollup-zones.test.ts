import type { Collected } from "../harness/report.ts";
import { rollupZones } from "../rollup-zones.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rollup-zones", function () {
  this.timeout(120_000);

  let built: Collected;
  let broken: Collected;

  before(async () => {
    built = await quickRun(rollupZones);
    broken = await quickRun(rollupZones, { variant: "broken-date-trunc" });
  });

  it("ROLL-4 puts each instant into its local month, even if the first midnight occurs twice or never", () => {
    expectHeld(built);
  });

  it("fails when months start at the result of date_trunc(), which is not always the first local midnight", () => {
    expectBroken(broken, /every month has the moments/);
  });
});
