import { searchTenants } from "../search-tenants.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("search-tenants", function () {
  this.timeout(120_000);

  it("SEARCH-1 SEARCH-2 finds no tenant a document of another, with row security also when the SQL is broken", async () => {
    expectHeld(await quickRun(searchTenants, { cases: 200 }));
  });

  for (const variant of searchTenants.brokenVariants) {
    it(`fails with ${variant}`, async () => {
      expectBroken(await quickRun(searchTenants, { variant, cases: 40 }), /no hit of another tenant/);
    });
  }
});
