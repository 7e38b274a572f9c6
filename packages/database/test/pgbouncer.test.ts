import { createDatabase, type Database, enableRowSecurity } from "@svc/database";
import { testDatabase, testPgBouncer } from "@svc/dev-services";
import type { Queryable } from "@svc/sql";
import { expect } from "chai";
import { type Login, makeLogin } from "./support/login.ts";
import { PATIENT } from "./support/patient.ts";

const tenants = ["acme", "globex"] as const;

describe("withTenant through PgBouncer in transaction mode", function () {
  this.timeout(60_000);
  const pgBouncer = testPgBouncer();
  let login: Login | undefined;
  after(() => login?.drop());
  const postgres = testDatabase({ name: "pgbouncer" });

  it("separates the tenants of three pools on two shared connections", async () => {
    login = await makeLogin(postgres.url);
    await using bouncer = await pgBouncer.start(login.url, 2);
    const open = (): Database =>
      createDatabase({ url: bouncer.url, max: 4, ...PATIENT, acquireTimeoutMs: 20_000 });
    await using first = open();
    await using second = open();
    await using third = open();
    await first.query("create table items (tenant_id text not null)");
    expect(await enableRowSecurity(first, { table: "items" })).to.equal("created");
    expect(await enableRowSecurity(second, { table: "items" })).to.equal("present");
    // Open both connections before sharing them: otherwise one may serve nearly all requests.
    await first.transaction(() => second.query("select 1"));

    const select = "select tenant_id, pg_backend_pid() as pid from items";
    const handlers: readonly ((tx: Queryable, tenant: string) => unknown)[] = [
      (tx) => tx.query(select),
      (tx, tenant) => tx.query("insert into items values ($1)", [tenant]),
      (tx) => tx.query("select 1 / 0"),
      (tx) => tx.query(`${select} limit $1`, [10]),
      (tx, tenant) => tx.query("select set_config('svc.tenant', $1, false)", [tenant]),
      (tx) => tx.query("set local statement_timeout = 3; select pg_sleep(10)"),
      async (tx, tenant) => {
        await tx.query(`set svc.tenant = '${tenant}'`);
        throw new Error("no");
      },
    ];
    const seen = { own: 0, foreign: 0, without: 0, failed: 0 };
    const served = new Set<string>();
    const request = async (n: number): Promise<void> => {
      const db = [first, second, third][n % 3] ?? first;
      const tenant = tenants[n % 2] ?? "acme";
      const handler = handlers[n % handlers.length];
      seen.without += (await db.query(select)).rows.length;
      try {
        const found = await db.withTenant(tenant, async (tx) => handler?.(tx, tenant));
        for (const row of (found as { rows?: Record<string, unknown>[] }).rows ?? []) {
          if (row["pid"] === undefined) continue;
          if (row["tenant_id"] === tenant) seen.own += 1;
          else seen.foreign += 1;
          served.add(JSON.stringify([row["pid"], tenant]));
        }
      } catch {
        seen.failed += 1;
      }
    };
    let n = 0;
    const worker = async (): Promise<void> => {
      while (n < 420) await request(n++);
    };
    await Promise.all(Array.from({ length: 12 }, worker));
    expect(seen).to.include({ foreign: 0, without: 0, failed: 180 });
    expect(seen.own).to.be.above(420);
    expect([...served], "every connection served both").to.have.lengthOf(4);
  });
});
