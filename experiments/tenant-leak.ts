import { createDatabase, type Database } from "@svc/database";
import { openTestDatabase, openTestLogin } from "@svc/dev-services";
import { enableRowSecurity } from "@svc/sql";
import { signToken } from "@svc/test-support";
import { keepAliveAgent, type Outcome, send, tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import type { Seen, TenantsSettings } from "./services/tenants.ts";

const tenants = ["acme", "globex"] as const;
const workers = 32;
const connections = 6;
const secret = "a secret of the tests, which has more than 32 bytes";

// The number of requests by path. Requests that break a connection are rare, because a new connection takes time.
const mix: Readonly<Record<string, number>> = {
  "as/careful": 14,
  "as/forgetful": 30,
  "as/slow": 8,
  "as/insert": 12,
  "as/update": 4,
  "as/remove": 4,
  "as/fail": 6,
  "as/hide": 3,
  "as/steal": 4,
  "as/throw": 6,
  "as/cancel": 4,
  "as/lose": 1,
  "as/poison": 4,
  poison: 2,
  open: 8,
};
const paths = Object.entries(mix).flatMap(([path, share]) => Array.from({ length: share }, () => path));

/** Sends ten thousand requests of two tenants over one connection pool; some of them fail or are aborted. */
export const tenantLeak: Experiment = {
  name: "tenant-leak",
  description:
    "two tenants share a pool; handlers fail, omit the tenant or are aborted: no tenant sees a row of the other",
  brokenVariants: [
    "broken-session-setting",
    "broken-no-force",
    "broken-bypassing-login",
    "broken-shared-variable",
  ],
  async run(run, report) {
    await using database = await openTestDatabase({ name: "tenant leak" });
    await using admin = createDatabase({ url: database.url });
    const bypass = run.variant === "broken-bypassing-login" ? "bypassrls" : "nobypassrls";
    await using login = await openTestLogin({
      url: database.url,
      attributes: `nosuperuser ${bypass}`,
      grants: ["grant usage, create on schema public to login"],
    });
    await prepare(admin, login.url, run.variant);
    const settings: TenantsSettings = { url: login.url, secret, connections, variant: run.variant };
    await using service = await startService("tenants.ts", settings);
    const outcomes = await load(service, run);
    // The transaction of an aborted request continues and may still write: wait for it.
    if (service.exit === undefined) await service.ask("idle");
    await judge(outcomes, { service, admin, report });
  },
};

/**
 * Creates a table with rows of both tenants. The service's login owns it: row security does not apply to an owner by
 * default.
 */
async function prepare(admin: Database, loginUrl: string, variant: string): Promise<void> {
  await using owner = createDatabase({ url: loginUrl });
  await owner.query(`create table items (id int generated always as identity primary key, tenant_id text not null,
    made_by text not null, changed_by text, removed_by text)`);
  await enableRowSecurity(owner, { table: "items" });
  if (variant === "broken-no-force") await owner.query("alter table items no force row level security");
  await admin.query(
    `insert into items (tenant_id, made_by)
     select tenant, tenant from unnest($1::text[]) as tenant, generate_series(1, 500) as n order by n`,
    [tenants],
  );
}

interface Asked extends Outcome {
  readonly path: string;
  readonly tenant: string | undefined;
  readonly aborts: boolean;
}

async function load(service: ServiceProcess, run: Run): Promise<readonly Asked[]> {
  const wanted = run.cases ?? (run.quick ? 1500 : 10_000);
  const agent = keepAliveAgent(workers);
  const bearers = tenants.map(
    (tenant) => `Bearer ${signToken({ sub: `u-${tenant}`, tenant_id: tenant }, secret)}`,
  );
  const strangers: readonly (readonly [string, string])[] = [
    ["a token without tenant", `Bearer ${signToken({}, secret)}`],
    ["a token of another issuer", `Bearer ${signToken({ tenant_id: "acme" }, `${secret}!`)}`],
  ];
  const outcomes: Asked[] = [];
  let sent = 0;
  // In a short run of a broken variant, one row of another tenant is enough.
  const mayEnd = run.quick && run.variant !== asBuilt;
  let isFound = false;
  const work = async (): Promise<void> => {
    while (sent < wanted && !isFound && service.exit === undefined) {
      const n = sent++;
      const path = paths[(n * 37) % paths.length] ?? "open";
      const stranger = n % 31 === 5 ? strangers[n % 2] : undefined;
      const tenant = stranger === undefined ? tenants[n % 2] : undefined;
      const authorization = stranger?.[1] ?? bearers[n % 2] ?? "";
      const aborts = n % 8 === 3;
      // The header is not a source of tenants here, so naming the other tenant in it must have no effect.
      const other = tenants[(n + 1) % 2] ?? "";
      const outcome = await send(service.port, `/${path}`, {
        agent,
        headers: { authorization, ...(n % 5 === 0 ? { "x-tenant-id": other } : {}) },
        ...(aborts ? { deadlineMs: 1 + (n % 9) } : {}),
      });
      const asked: Asked = { ...outcome, path, tenant, aborts };
      outcomes.push(asked);
      if (mayEnd && foreignIn(asked).length > 0) isFound = true;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  agent.destroy();
  return outcomes;
}

interface Scene {
  readonly service: ServiceProcess;
  readonly admin: Database;
  readonly report: Report;
}

async function judge(outcomes: readonly Asked[], { service, admin, report }: Scene): Promise<void> {
  const answered = outcomes.filter((each) => each.status !== 0);
  const ok = answered.filter((each) => each.status === 200);
  const errors = answered.filter((each) => each.status >= 500);
  const aborted = outcomes.filter((each) => each.aborts && each.status === 0);
  const lost = outcomes.filter((each) => !each.aborts && each.status === 0);
  const strange = outcomes.filter((each) => each.tenant === undefined && each.path !== "open");
  const admitted = strange.filter((each) => each.status !== 0 && each.status !== 401 && each.status !== 403);
  const leaked = outcomes.flatMap(foreignIn);
  const seen = await service.ask<Seen>("seen");
  const { rows } = await admin.query<{ wrong: number; written: number }>(`
    select count(*) filter (where made_by <> tenant_id or changed_by <> tenant_id or removed_by <> tenant_id)::int as wrong,
      count(*) filter (where changed_by is not null or removed_by is not null or id > 1000)::int as written from items`);
  const [found] = rows;

  report.figure("two tenants", "requests", outcomes.length, "count");
  report.figure("two tenants", "answered with 200", ok.length, "count");
  report.figure("two tenants", "answered with a 5xx", errors.length, "count");
  report.figure("two tenants", "aborted by the client", aborted.length, "count");
  report.figure("two tenants", "refused, without a tenant", strange.length - admitted.length, "count");
  report.figure("two tenants", "changes of a connection to the other tenant", seen.turns, "count");
  report.figure("two tenants", "own rows seen", seen.own, "count");
  report.figure("two tenants", "rows of the other tenant in answers", leaked.length, "count");
  report.figure("two tenants", "rows of the other tenant in handlers", seen.foreign, "count");
  report.figure("two tenants", "rows seen without a tenant", seen.unset, "count");
  report.figure("two tenants", "rows written", found?.written ?? 0, "count");
  report.figure("two tenants", "rows written for the other tenant", found?.wrong ?? 0, "count");
  report.note(`the database check says: ${seen.ready}`);
  report.rule(leaked.length === 0 && seen.foreign === 0, "no tenant sees a row of the other tenant");
  report.rule(seen.unset === 0, "without a tenant no row is visible");
  report.rule(found?.wrong === 0, "no tenant writes a row for the other tenant");
  report.rule(!seen.ready.includes("bypasses"), "the login of the service does not bypass row security");
  report.rule(admitted.length === 0, "requests without a tenant are refused");
  const share = outcomes.length / 20;
  report.rule(
    seen.own > outcomes.length && (found?.written ?? 0) > share,
    "tenants see and write their own rows",
  );
  report.rule(
    errors.length > share && aborted.length > share,
    "errors and aborts each occur in more than one of twenty requests",
  );
  report.rule(seen.turns > share, "connections change between tenants");
  const reasons = tally(lost.map((each) => each.error ?? ""));
  report.rule(lost.length === 0, `every other request was answered (${reasons})`);
}

/** Returns the other tenants whose rows a response contains. */
function foreignIn({ status, body, tenant }: Asked): readonly string[] {
  if (status !== 200) return [];
  const rows = JSON.parse(body) as readonly { readonly tenant_id?: string }[];
  return rows.flatMap((row) => row.tenant_id ?? []).filter((each) => each !== tenant);
}
