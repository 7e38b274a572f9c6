import { testProgram } from "@svc/dev-services";
import { logoutReach } from "../logout-reach.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("logout-reach", function () {
  this.timeout(120_000);
  testProgram("redis");

  let built: Collected;
  const broken = new Map<string, Collected>();

  // No run checks latencies, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(logoutReach, { variant: name, cases: 20 }));
    };
    [built] = await Promise.all([quickRun(logoutReach), ...logoutReach.brokenVariants.map(variant)]);
  });

  it("REV-11 ISS-5 refuses a token immediately after a sign-out on another replica", () => {
    expectHeld(built);
  });

  for (const variant of logoutReach.brokenVariants) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, /the next request on the other replica is refused/);
    });
  }
});
