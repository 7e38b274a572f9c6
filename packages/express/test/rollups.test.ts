import { setTimeout as delay } from "node:timers/promises";
import { needsSharedPostgres, openTestDatabase, type OpenTestDatabase } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { defineRollup, type Rollup, type RollupOptions } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { expect } from "chai";
import pg from "pg";
import request from "supertest";

import { runChild } from "./support/child.ts";
import { faultsOf } from "./support/refusal.ts";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

const definition = {
  name: "expense_months",
  source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "spent_at" },
  groupBy: { category: { column: "category" } },
  measures: {
    total: { sql: "sum(amount)", type: "numeric(14, 2)" },
    n: { sql: "count(*)", type: "bigint" },
  },
  timeZone: "UTC",
} satisfies RollupOptions;
const monthly = (): Rollup => defineRollup(definition);

const toml = (more = "", enabled = '"metrics", "database", "queue", "rollups"'): string => `
[plugins]
enabled = [${enabled}]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
poll = 0.05
[plugin.rollups]
${more}
`;

interface Check {
  readonly healthy: boolean;
  readonly critical: boolean;
  readonly detail: string;
}

async function checkOf({ url }: TestService): Promise<Check> {
  const { body } = await request(url).get("/ready");
  return (body as { checks: Record<string, Check> }).checks["rollups"] ?? expect.fail("there is no check");
}

/** Calls `look` until `fits` accepts its result, and returns that result. The test's own timeout is the limit. */
async function until<T>(look: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    await delay(20);
  }
}

const thisMonth = new Date().toISOString().slice(0, 7);

describe("the plugin `rollups`", function () {
  this.timeout(60_000);
  needsSharedPostgres();
  let database: OpenTestDatabase;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await openTestDatabase({ name: "express-rollups" });
    pool = new pg.Pool({ connectionString: database.url });
    pool.on("error", () => undefined);
    await pool.query(
      "create table expenses (tenant_id text, spent_at timestamptz not null, category text, amount numeric(12, 2))",
    );
    await pool.query("create index on expenses (tenant_id, spent_at)");
  });
  afterEach(async () => {
    await pool.end();
    await database[Symbol.asyncDispose]();
  });

  const start = (more = "", options: TestServiceOptions = {}): Promise<TestService> =>
    startService({
      toml: toml(more),
      env: { DATABASE_URL: database.url },
      rollups: { monthly: monthly() },
      ...options,
    });

  const rollupOf = ({ service }: TestService) =>
    service.rollups?.["monthly"] ?? expect.fail("there is no rollup");
  const monthOf = { from: `${thisMonth}-01`, to: `${thisMonth}-01` };
  const spend = (tenant: string): Promise<unknown> =>
    pool.query("insert into expenses values ($1, now(), 'food', 12.5)", [tenant]);

  it("ROLL-1 ROLL-2 ROLL-5 creates the rollup tables, and refreshes them in the caller's transaction", async () => {
    await using test = await start();
    const rollup = rollupOf(test);
    await withTransaction(pool, async (tx) => {
      await tx.query("insert into expenses values ('acme', now(), 'food', 12.5)");
      await rollup.touched(tx, { tenant: "acme", at: new Date() });
    });
    expect(await rollup.query("acme", monthOf)).to.deep.equal([
      { month: monthOf.from, category: "food", total: "12.50", n: "1" },
    ]);
    expect(await checkOf(test)).to.deep.equal({
      healthy: true,
      status: "ok",
      critical: false,
      detail: "1 rollup(s)",
    });
    const info = await request(test.url).get("/info");
    expect((info.body as { plugins: object[] }).plugins).to.deep.include({
      name: "rollups",
      rollups: [
        {
          name: "monthly",
          table: "expense_months",
          zone: "UTC",
          groups: ["category"],
          measures: ["total", "n"],
        },
      ],
      refresh: "inline",
      verify_every: 0,
      repair: false,
    });
  });

  it("ROLL-2 reports drift in /ready and /metrics of every replica, and repairs it if `repair` is true", async () => {
    const rollups = { monthly: monthly() };
    await using worker = await start("verify_every = 3600", { rollups });
    await using server = await start("verify_every = 3600", { rollups, role: "server" });
    const replicas = [worker, server];
    const verify = (second: number): Promise<unknown> | undefined =>
      worker.service.jobs?.enqueue({
        task: "rollups:verify",
        payload: { scheduled_for: new Date(Date.now() + second * 1000).toISOString() },
      });
    expect((await checkOf(server)).detail).to.equal("1 rollup(s); not verified yet");
    for (const tenant of ["acme", "globex"]) await spend(tenant);
    await pool.query("insert into expenses values ('acme', now() - interval '40 days', 'food', 1)");
    await verify(0);
    for (const replica of replicas) {
      const check = await until(
        () => checkOf(replica),
        ({ healthy }) => !healthy,
      );
      expect(check.detail).to.match(
        /^rollup monthly: 3 bucket\(s\) of 2 tenant\(s\) differ from their rows; last verified \d+ s ago$/,
      );
      expect(check.critical).to.equal(false);
      expect((await request(replica.url).get("/ready")).status).to.equal(200);
      const { text } = await request(replica.url).get("/metrics");
      expect(text).to.contain('svc_rollup_drift_buckets{rollup="monthly"} 3\n');
    }
    const warnings = replicas.flatMap(({ lines }) => lines).filter(({ rollup }) => rollup === "monthly");
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include({ level: "warn", message: "totals differ from their rows", buckets: 3 });

    await using repairing = await start("verify_every = 3600\nrepair = true", { rollups, role: "server" });
    await worker.service.stop();
    await using _ = await start("verify_every = 3600\nrepair = true", { rollups, role: "worker" });
    await repairing.service.jobs?.enqueue({
      task: "rollups:verify",
      payload: { scheduled_for: new Date(Date.now() + 1000).toISOString() },
    });
    const totals = await until(
      () => rollupOf(server).query("globex", monthOf),
      ({ length }) => length > 0,
    );
    expect(totals[0]).to.include({ total: "12.50" });
    await until(
      () => rollupOf(server).verifyNext({ from: "2026-01-01", to: monthOf.to }),
      ({ drift }) => drift.length === 0,
    );
  });

  it("ROLL-2 verifies and repairs the other tenants when a measure fails for one, and reports that one", async () => {
    const measures = { share: { sql: "sum(100 / amount)", type: "numeric(14, 2)" } };
    const rollups = { monthly: defineRollup({ ...definition, name: "share_months", measures }) };
    await using test = await start("verify_every = 3600\nrepair = true", { rollups });
    await pool.query(
      "insert into expenses values ('a', now(), 'x', 1), ('b', now(), 'x', 0), ('c', now(), 'x', 1)",
    );
    await test.service.jobs?.enqueue({
      task: "rollups:verify",
      payload: { scheduled_for: new Date().toISOString() },
    });
    const check = await until(
      () => checkOf(test),
      ({ healthy }) => !healthy,
    );
    expect(check.detail).to.match(
      /^rollup monthly: 1 tenant\(s\) could not be compared \(SQLSTATE 22012\); last verified \d+ s ago$/,
    );
    for (const tenant of ["a", "c"]) expect(await rollupOf(test).query(tenant, monthOf)).to.have.length(1);
    const warnings = await until(
      async () => test.lines.filter(({ rollup }) => rollup === "monthly"),
      ({ length }) => length === 2,
    );
    expect(warnings.map(({ failed, repaired }) => failed ?? repaired)).to.deep.equal([1, 2]);
  });

  it("SCH-1 verifies on its schedule, and adds the schedule to the queue", async () => {
    await using test = await start("verify_every = 1");
    await spend("acme");
    await until(
      () => checkOf(test),
      ({ healthy }) => !healthy,
    );
    const info = await request(test.url).get("/info");
    const { plugins } = info.body as { plugins: { name: string; schedules?: { name: string }[] }[] };
    const queue = plugins.find(({ name }) => name === "queue");
    expect(queue?.schedules?.map(({ name }) => name)).to.deep.equal(["rollups:verify"]);
  });

  it('ROLL-2 refreshes by jobs with refresh = "job", also in a worker that has no other jobs', async () => {
    const rollups = { monthly: monthly() };
    await using server = await start('refresh = "job"', { rollups, role: "server" });
    const rollup = rollupOf(server);
    await withTransaction(pool, async (tx) => {
      await tx.query("insert into expenses values ('acme', now(), 'food', 12.5)");
      await rollup.touched(tx, { tenant: "acme", at: new Date() });
    });
    expect(await rollup.query("acme", monthOf)).to.deep.equal([]);
    await using _ = await start('refresh = "job"', { rollups, role: "worker" });
    await until(
      () => rollup.query("acme", monthOf),
      (totals) => totals.length === 1,
    );
  });

  it("JOB-10 JOB-20 reports a refresh job as dead if the worker lacks the rollup, and refreshes at the next change", async () => {
    const rollups = { monthly: monthly() };
    await using server = await start('refresh = "job"', { rollups, role: "server" });
    const rollup = rollupOf(server);
    const change = (): Promise<unknown> =>
      withTransaction(pool, async (tx) => {
        await tx.query("insert into expenses values ('acme', now(), 'food', 1)");
        await rollup.touched(tx, { tenant: "acme", at: new Date() });
      });
    const other = await startService({
      toml: toml("", '"database", "queue"').replace("[plugin.rollups]", ""),
      env: { DATABASE_URL: database.url },
      jobs: { other: () => undefined },
      role: "worker",
    });
    await change();
    const ready = async () =>
      ((await request(server.url).get("/ready")).body as { checks: Record<string, Check> }).checks["queue"];
    await until(ready, (check) => check?.detail === "1 job(s) in the dead-letter queue");
    await other[Symbol.asyncDispose]();
    await change();
    await using _ = await start('refresh = "job"', { rollups, role: "worker" });
    await until(
      () => rollup.query("acme", monthOf),
      ([totals]) => totals?.["n"] === "2",
    );
  });

  it("ROLL-4 starts after a change of the zone, and rejects queries until rebuildAll() has run", async () => {
    const { timeZone: _zone, ...draft } = definition;
    await using utc = await start('zone = "UTC"', { rollups: { monthly: draft } });
    await spend("acme");
    await rollupOf(utc).rebuildAll();
    await using test = await start('zone = "Asia/Tokyo"', { rollups: { monthly: draft } });
    expect(await checkOf(test)).to.include({
      healthy: false,
      critical: false,
      detail:
        "rollup monthly: its totals use months in UTC, not in Asia/Tokyo, so it refuses to answer: call rebuildAll() once",
    });
    const error: unknown = await rollupOf(test)
      .query("acme", monthOf)
      .catch((each: unknown) => each);
    expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ZONE");
    await rollupOf(test).rebuildAll();
    expect(await rollupOf(test).query("acme", { from: "2020-01-01", to: "2100-01-01" })).to.have.length(1);
  });

  it("starts without its database, which the check in /ready reports", async () => {
    await using test = await start("", {
      env: { DATABASE_URL: "postgres://127.0.0.1:1/none" },
      toml: toml("", '"database", "rollups"').replace("[plugin.queue]\npoll = 0.05", ""),
    });
    expect(await checkOf(test)).to.include({ healthy: false, critical: false });
    expect((await checkOf(test)).detail).to.match(/^rollup monthly: the database does not answer \(/);
  });

  it("loads its package only for a service that enables it", async () => {
    await using child = await runChild(
      `import { registerHooks } from "node:module";
       const loaded = new Set();
       registerHooks({
         resolve(name, context, next) {
           const found = next(name, context);
           const [, file] = /[/]packages[/]rollups[/]src[/](.*)[.]ts$/.exec(found.url) ?? [];
           if (file !== undefined) loaded.add(file);
           return found;
         },
       });
       const { createService } = await import("@svc/express");
       const service = await createService({
         config: { toml: '[service]\\nname = "test"\\n' },
         logDestination: { write() {} },
       });
       await service.stop();
       console.log(JSON.stringify({ message: "loaded", files: [...loaded].toSorted() }));`,
      {},
    );
    expect(await child.ended).to.include({ code: 0 });
    expect(child.lines().map(({ files }) => files)).to.deep.equal([["plugin", "plugin-options"]]);
  });

  it("CFG-12 refuses to start if the definition does not match the database", async () => {
    const source = { ...definition.source, timeColumn: "paid_at" };
    const { service } = await makeService({
      toml: toml(),
      env: { DATABASE_URL: database.url },
      rollups: { monthly: defineRollup({ ...definition, source }) },
    });
    const error: unknown = await service.start().catch((each: unknown) => each);
    await service.stop();
    expect(error).to.be.instanceOf(ConfigurationError);
    expect((error as ConfigurationError).faults).to.deep.equal([
      {
        key: "rollups.monthly",
        message: "the source expenses has no column paid_at",
      },
    ]);
  });

  it("CFG-12 rejects names that are taken, jobs without the queue, and rollups without the plugin", async () => {
    const faults = async (more: TestServiceOptions): Promise<readonly string[]> =>
      (
        await faultsOf({
          toml: toml("verify_every = 60"),
          env: { DATABASE_URL: database.url },
          rollups: { monthly: monthly() },
          ...more,
        })
      ).map(({ key, message }) => `${key} ${message}`);
    expect(
      await faults({
        jobs: { "rollup.refresh.expense_months": () => undefined },
        schedules: { "rollups:verify": { everySeconds: 5, task: "rollups:verify" } },
      }),
    ).to.deep.equal([
      "jobs.rollup.refresh.expense_months is the task of the plugin rollups; rename the job",
      "schedules.rollups:verify is also a schedule of the plugin rollups; rename one of them",
    ]);
    const withoutQueue = toml('refresh = "job"\nverify_every = 60', '"database", "rollups"');
    expect(await faults({ toml: withoutQueue.replace("[plugin.queue]\npoll = 0.05", "") })).to.deep.equal([
      'plugin.rollups.refresh is "job", which needs the plugin queue: enable it',
      "plugin.rollups.verify_every is 60, but jobs verify the totals: enable the plugin queue, or set it to 0",
    ]);
    expect(await faults({ toml: "" })).to.include(
      "rollups has no effect without the plugin rollups; enable the plugin, or remove rollups",
    );
    const inSchema = { ...definition, name: "monthly", table: "public.expense_months" };
    expect(await faults({ rollups: { monthly: monthly(), qualified: inSchema } })).to.deep.equal([
      "rollups.qualified has the table public.expense_months, which may be expense_months of rollups.monthly: write both with their schema, or choose another table",
    ]);
    expect(await faults({ rollups: { monthly: 5 } as never })).to.deep.equal([
      "rollups.monthly must be a rollup returned by defineRollup()",
    ]);
    expect(await faults({ rollups: 5 as never })).to.deep.equal([
      "rollups must be an object of rollups by name; it is 5",
    ]);
    expect(await faults({ rollups: undefined })).to.deep.equal([
      "plugins.enabled contains rollups, which has no rollups: pass rollups to createService()",
    ]);
  });
});
