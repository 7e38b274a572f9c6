import { tenantLeak } from "../tenant-leak.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("tenant-leak", function () {
  this.timeout(120_000);

  it("TEN-4 TEN-5 TEN-10 finds no row of one tenant in a response to the other", async () => {
    expectHeld(await quickRun(tenantLeak));
  });

  for (const variant of tenantLeak.brokenVariants) {
    it(`fails with ${variant}`, async () => {
      expectBroken(await quickRun(tenantLeak, { variant, cases: 500 }), /no tenant sees a row/);
    });
  }
});
