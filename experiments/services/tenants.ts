import { createDatabase } from "@svc/database";
import { jwtAuth } from "@svc/jwt-auth";
import { notFoundError, problemHandler } from "@svc/problem";
import type { Queryable } from "@svc/sql";
import { currentTenant, requireTenant, tenancy, tenantOf } from "@svc/tenancy";
import express from "express";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";

export interface TenantsSettings {
  readonly url: string;
  readonly secret: string;
  readonly connections: number;
  readonly variant: string;
}

/** The rows that the handlers saw in the database, including handlers of aborted requests. */
export interface Seen {
  /** The number of rows of the request's tenant. */
  readonly own: number;
  /** The number of rows of another tenant. */
  readonly foreign: number;
  /** The number of rows seen while no tenant was set. */
  readonly unset: number;
  /** The number of times that a connection served a different tenant than before. */
  readonly turns: number;
  readonly ready: string;
}

interface Item extends Record<string, unknown> {
  readonly tenant_id: string;
  readonly pid: number;
}

const { url, secret, connections, variant } = settingsOfParent<TenantsSettings>();
const db = createDatabase({ url, max: connections, acquireTimeoutMs: 20_000 });
const items = "select tenant_id, pg_backend_pid() as pid from items";
let own = 0;
let foreign = 0;
let unset = 0;
let turns = 0;
const lastTenant = new Map<number, string>();
// Used by the variant that keeps a request's tenant in a module variable.
let shared = "";

type Handler = (tx: Queryable, tenant: string) => Promise<unknown>;

/** Handlers by name. Most of them do not filter by tenant. */
const handlers: Readonly<Record<string, Handler>> = {
  careful: (tx, tenant) => tx.query(`${items} where tenant_id = $1 order by id desc limit 20`, [tenant]),
  forgetful: (tx) => tx.query(`${items} order by id desc limit 20`),
  slow: async (tx) => {
    await tx.query("select pg_sleep(0.01)");
    return tx.query(`${items} order by id desc limit 20`);
  },
  insert: (tx, tenant) => tx.query("insert into items (tenant_id, made_by) values ($1, $1)", [tenant]),
  update: (tx, tenant) => tx.query("update items set changed_by = $1 where id % 97 = 0", [tenant]),
  remove: (tx, tenant) => tx.query("update items set removed_by = $1 where id % 89 = 0", [tenant]),
  fail: (tx) => tx.query("select 1 / 0"),
  hide: (tx) => tx.query("select 1 / 0").catch(() => undefined),
  steal: (tx) => tx.query("insert into items (tenant_id, made_by) values ('other', 'nobody')"),
  async throw(tx) {
    await tx.query(items);
    throw new Error("the handler throws");
  },
  cancel: (tx) => tx.query("set local statement_timeout = 5; select pg_sleep(10)"),
  lose: (tx) => tx.query("select pg_terminate_backend(pg_backend_pid())"),
  poison: (tx, tenant) => tx.query("select set_config('svc.tenant', $1, false)", [tenant]),
};

async function asTenant(tenant: string, handler: Handler): Promise<unknown> {
  if (variant === "broken-session-setting") {
    await db.pool.query("select set_config('svc.tenant', $1, false)", [tenant]);
    return handler(db.pool, tenant);
  }
  if (variant === "broken-shared-variable") {
    await delay(1);
    return db.withTenant(shared, (tx) => handler(tx, shared));
  }
  await delay(1);
  const current = currentTenant();
  return db.withTenant(current, (tx) => handler(tx, current));
}

function rowsOf(found: unknown, tenant: string | undefined): readonly Item[] {
  const rows = (found as { rows?: readonly Item[] } | undefined)?.rows ?? [];
  for (const { tenant_id: of, pid } of rows) {
    if (of === undefined) continue;
    if (tenant === undefined) unset += 1;
    else if (of === tenant) own += 1;
    else foreign += 1;
    if (tenant !== undefined && lastTenant.get(pid) !== tenant) {
      turns += 1;
      lastTenant.set(pid, tenant);
    }
  }
  return rows;
}

const app = express();
app.use(jwtAuth({ secret, env: "local" }), tenancy({ sources: ["token"] }));
app.get("/open", async (_req, res) => {
  res.json(rowsOf(await db.query(`${items} limit 20`), undefined));
});
app.get("/poison", requireTenant(), async (req, res) => {
  await db.query("select set_config('svc.tenant', $1, false)", [tenantOf(req)]);
  res.json([]);
});
app.get("/as/:handler", requireTenant(), async (req, res) => {
  const handler = handlers[req.params["handler"] ?? ""];
  if (handler === undefined) throw notFoundError("no such handler");
  const tenant = tenantOf(req) ?? "";
  shared = tenant;
  res.json(rowsOf(await asTenant(tenant, handler), tenant));
});
app.use(problemHandler());

answerQuestions({
  async idle() {
    while (db.pool.waitingCount > 0 || db.pool.idleCount < db.pool.totalCount) await delay(20);
    return true;
  },
  async seen(): Promise<Seen> {
    const { detail } = await db.readiness().check(AbortSignal.timeout(5000));
    return { own, foreign, unset, turns, ready: detail ?? "" };
  },
});
listenAndAnnounce(createServer(app));
