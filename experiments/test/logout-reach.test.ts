import { logoutReach } from "../logout-reach.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("logout-reach", function () {
  this.timeout(120_000);

  it("REV-11 ISS-5 refuses on one replica at once what another has ended, and tells what asking costs", async () => {
    expectHeld(await quickRun(logoutReach));
  });

  it("fails with a store for each replica, and with answers of the store that are remembered", async () => {
    const broken = await Promise.all(
      logoutReach.brokenVariants.map((variant): Promise<Collected> =>
        quickRun(logoutReach, { variant, cases: 20 }),
      ),
    );
    for (const report of broken) expectBroken(report, /the next request on the other replica is refused/);
  });
});
