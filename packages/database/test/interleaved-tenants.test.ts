import { createDatabase, type Database, enableRowSecurity } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { problemHandler } from "@svc/problem";
import type { Queryable } from "@svc/sql";
import { collectingLogger, listen } from "@svc/test-support";
import { expect } from "chai";
import express, { type Request } from "express";
import { setTimeout as sleep } from "node:timers/promises";
import { type Login, makeLogin } from "./support/login.ts";

const REQUESTS = 1000;
const WORKERS = 24;
const TENANTS = ["acme", "globex"] as const;

type Handler = (tx: Queryable, tenant: string) => unknown;

const select = "select tenant_id, made_by from items";

/** The handlers of the requests; most of their statements have no `where tenant_id`. */
const handlers: Readonly<Record<string, Handler>> = {
  careful: (tx, tenant) => tx.query(`${select} where tenant_id = $1 limit 20`, [tenant]),
  forgetful: (tx) => tx.query(`${select} order by id desc limit 20`),
  writes: (tx, tenant) => tx.query("insert into items (tenant_id, made_by) values ($1, $1)", [tenant]),
  "changes-all": (tx, tenant) => tx.query("update items set changed_by = $1", [tenant]),
  fails: (tx) => tx.query("select 1 / 0"),
  hides: (tx) => tx.query("select 1 / 0").catch(() => undefined),
  throws: async (tx) => {
    await tx.query(select);
    throw new Error("no");
  },
  slow: async (tx) => {
    await tx.query("select pg_sleep(0.02)");
    return tx.query(`${select} limit 20`);
  },
  cancelled: (tx) => tx.query("set local statement_timeout = 5; select pg_sleep(10)"),
  poisons: (tx, tenant) => tx.query(`set svc.tenant = '${tenant}'`),
  lost: (tx) => tx.query("select pg_terminate_backend(pg_backend_pid())"),
};
const names = Object.keys(handlers);

describe("two tenants on one pool", function () {
  this.timeout(60_000);
  let login: Login;
  let db: Database;
  after(async () => {
    await db.stop();
    await login.drop();
  });
  const postgres = testDatabase({ name: "interleaved" });
  before(async () => {
    login = await makeLogin(postgres.url);
    // Long timeouts: neither the deliberate failures nor a slow machine may open the breaker.
    const times = { acquireTimeoutMs: 10_000, connectTimeoutMs: 10_000 };
    db = createDatabase({ url: login.url, max: 4, ...times, logger: collectingLogger() });
    await db.query(`create table items (id int generated always as identity, tenant_id text not null,
      made_by text not null, changed_by text)`);
    await enableRowSecurity(db, { table: "items" });
  });

  it(`do not see each other's rows in ${REQUESTS} requests that include errors and aborts`, async () => {
    const rows = { own: 0, foreign: 0, without: 0 };
    const count = (found: unknown, tenant: string): unknown => {
      const list = (found as { rows?: { tenant_id?: string }[] } | undefined)?.rows ?? [];
      for (const row of list) {
        if (row.tenant_id === tenant) rows.own += 1;
        else if (row.tenant_id !== undefined) rows.foreign += 1;
      }
      return list;
    };
    const app = express();
    const tenantOf = (req: Request): string => String(req.headers["x-caller"]);
    app.get("/without", async (_req, res) => {
      const found = await db.query(`${select} limit 20`);
      rows.without += found.rows.length;
      res.json(found.rows);
    });
    app.get("/:what", async (req, res) => {
      const handler = handlers[req.params.what];
      if (handler === undefined) throw new Error("no such handler");
      const tenant = tenantOf(req);
      const found = await db.withTenant(tenant, async (tx) => handler(tx, tenant));
      // Count here too: no client reads the response of an aborted request.
      res.json(count(found, tenant));
    });
    app.use(problemHandler());
    await using server = await listen(app);

    const statuses = new Map<string, number>();
    let sent = 0;
    let foreignAnswers = 0;
    async function ask(n: number): Promise<void> {
      const tenant = TENANTS[n % 2] ?? "acme";
      const what = n % 9 === 0 ? "without" : (names[(n * 7) % names.length] ?? "");
      const aborts = n % 8 === 3;
      const signal = aborts ? AbortSignal.timeout(1 + (n % 5)) : null;
      let outcome = "aborted";
      try {
        const answer = await fetch(`${server.url}/${what}`, { headers: { "x-caller": tenant }, signal });
        outcome = String(answer.status);
        const body = (await answer.json()) as { tenant_id?: string }[] | object;
        if (Array.isArray(body))
          foreignAnswers += body.filter(
            (row) => row.tenant_id !== undefined && row.tenant_id !== tenant,
          ).length;
      } catch (error) {
        if (!aborts) throw error;
      }
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
    }
    const worker = async (): Promise<void> => {
      while (sent < REQUESTS) await ask(sent++);
    };
    await Promise.all(Array.from({ length: WORKERS }, worker));
    while (db.pool.waitingCount > 0 || db.pool.idleCount < db.pool.totalCount) await sleep(20);

    expect(rows).to.include({ foreign: 0, without: 0 });
    expect(foreignAnswers).to.equal(0);
    expect(rows.own, "rows were seen at all").to.be.above(REQUESTS);
    for (const status of ["200", "500", "503", "aborted"])
      expect(statuses.get(status), status).to.be.above(20);
    await using admin = createDatabase({ url: postgres.url });
    const { rows: wrong } = await admin.query(
      "select * from items where made_by <> tenant_id or changed_by <> tenant_id",
    );
    expect(wrong).to.deep.equal([]);
    expect((await admin.query("select distinct tenant_id from items")).rows).to.have.lengthOf(2);
  });
});
