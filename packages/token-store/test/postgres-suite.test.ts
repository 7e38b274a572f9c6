import { testDatabase } from "@svc/dev-services";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { tokenStoreCases } from "@svc/token-store/testing";
import type { Pool } from "pg";
import { openPool, openStore } from "./support/postgres.ts";

describe("createPostgresTokenStore in the token store suite (REF-18)", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "token-store-suite" });
  let pools: Pool[] = [];
  before(async () => {
    await using bench = await openStore(database.url);
    await bench.store.isRevoked({ jti: undefined, fam: undefined, sub: "nobody", signedInAt: 0 });
    pools = [openPool(database.url), openPool(database.url)];
  });
  after(async () => {
    for (const pool of pools) await pool.end();
  });
  const on = (index: number): ReturnType<typeof createPostgresTokenStore> => {
    const db = pools[index];
    if (db === undefined) throw new Error("only inside tests");
    return createPostgresTokenStore({ db, timeoutMs: 10_000 });
  };
  for (const { name, run } of tokenStoreCases({ create: () => on(0), createReplica: () => on(1) })) {
    it(name, run);
  }
});
