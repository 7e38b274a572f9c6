import type { Collected } from "../harness/report.ts";
import { searchTenants } from "../search-tenants.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("search-tenants", function () {
  // Without an installed PostgreSQL with pgvector, the embedded one runs in this process, which is slow.
  this.timeout(300_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // No run checks latencies, so run all of them concurrently; they share a server.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(searchTenants, { variant: name, cases: 20 }));
    };
    [built] = await Promise.all([
      quickRun(searchTenants, { cases: 200 }),
      ...searchTenants.brokenVariants.map(variant),
    ]);
  });

  it("SEARCH-1 SEARCH-2 never finds another tenant's documents, in the store and through the plugin; with row security, not even if statements lack the tenant condition", () => {
    expectHeld(built);
  });

  for (const variant of searchTenants.brokenVariants) {
    for (const part of searchTenants.parts ?? []) {
      it(`fails in the part ${part} with ${variant}`, () => {
        const report = broken.get(variant);
        if (report === undefined) throw new Error("the variant was not run");
        expectBroken(report, new RegExp(`^${part}, .*: no hit of another tenant`));
      });
    }
  }
});
