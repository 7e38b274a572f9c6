import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { testDatabase } from "@svc/dev-services";
import { ConfigurationError, withNames } from "@svc/options";
import type { PluginParts } from "@svc/plugin";
import { defineRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { rollupsPlugin, type RollupsMembers } from "@svc/rollups/plugin";
import { collectingLogger, rejection } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";
import { EXPENSES, openExpenses, openPool } from "./support/expenses.ts";

const names = {
  subject: "the service",
  of: (option: string) => (option === "rollups" ? "rollups" : `plugin.rollups.${option}`),
};
const queue = { enqueue: () => undefined };
const { timeZone: _zone, name: _name, ...draft } = EXPENSES;

interface Given {
  readonly options?: object;
  readonly db?: unknown;
  readonly jobs?: object | undefined;
  readonly enabled?: readonly string[];
  readonly tools?: object;
}

interface Started {
  readonly parts: PluginParts<RollupsMembers>;
  /** The faults as `key message`. */
  readonly faults: readonly string[];
}

/** Starts the plugin as a service does. */
async function start({
  options = {},
  db,
  jobs,
  enabled = ["database", "queue"],
  tools,
}: Given): Promise<Started> {
  const entries = Object.entries(rollupsPlugin.options.keys);
  const defaults = Object.fromEntries(entries.map(([name, { kind }]) => [name, kind.fallback]));
  const faults: string[] = [];
  async function attempt<T>(make: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults.map(({ key, message }) => `${key} ${message}`));
      return undefined;
    }
  }
  const parts = await attempt(() =>
    rollupsPlugin.start({
      options: withNames({ ...defaults, ...options }, names),
      logger: collectingLogger(),
      part: (member: string) => ({ db, jobs, rollupTools: tools })[member],
      code: () => undefined,
      isEnabled: (plugin: string) => enabled.includes(plugin),
      nameOf: names.of,
      attempt,
    } as never),
  );
  return { parts: parts ?? {}, faults };
}

describe("the plugin `rollups` in isolation", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollups plugin" });
  let db: Pool;
  before(() => {
    db = openPool(database.url, 4);
  });
  after(() => db.end());

  it("defines its keys in [plugin.rollups] and the plugins that it uses", () => {
    const { name, uses, needs, options } = rollupsPlugin;
    expect([name, uses, needs]).to.deep.equal(["rollups", ["database", "queue", "metrics"], []]);
    const keys = Object.entries(options.keys).map(([option, entry]) => ("key" in entry ? entry.key : option));
    expect(keys).to.deep.equal(["refresh", "verify_every", "verify_months", "repair", "zone", "rollups"]);
  });

  it("refuses a service without rollups or database", async () => {
    const { faults } = await start({ enabled: ["queue"], jobs: queue });
    expect(faults).to.deep.equal([
      "plugins.enabled contains rollups, which has no rollups: pass rollups to createService()",
      "plugins.enabled contains rollups, which needs a database: add database, or pass your own db to createService()",
    ]);
  });

  it("refuses jobs without the plugin queue", async () => {
    const rollups = { monthly: defineRollup(EXPENSES) };
    const options = { rollups, refresh: "job", verifyEverySeconds: 60 };
    expect((await start({ options, db, enabled: ["database"] })).faults).to.deep.equal([
      'plugin.rollups.refresh is "job", which needs the plugin queue: enable it',
      "plugin.rollups.verifyEverySeconds is 60, but jobs verify the totals: enable the plugin queue, or set it to 0",
    ]);
  });

  it("adds nothing and reports no fault without the database or the queue, whose plugins report it", async () => {
    const rollups = { monthly: defineRollup(EXPENSES) };
    for (const given of [{ db }, { jobs: queue }]) {
      const { parts, faults } = await start({ options: { rollups }, ...given });
      expect([parts, faults]).to.deep.equal([{ parts: { rollups: {} } }, []]);
    }
  });

  it("ROLL-4 applies the zone of the file to rollups without a zone, and names rollups by their key", async () => {
    const rollups = {
      monthly: { ...draft, name: "expense_months" },
      shop_months: { ...draft, timeZone: "Asia/Tokyo" },
    };
    const { parts, faults } = await start({ options: { rollups, zone: "Europe/Berlin" }, db, jobs: queue });
    expect(faults).to.deep.equal([]);
    const { monthly, shop_months: shops } = parts.parts?.rollups ?? {};
    expect(monthly).to.include({ name: "expense_months", timeZone: "Europe/Berlin" });
    expect(shops).to.include({ name: "shop_months", timeZone: "Asia/Tokyo" });
    expect(parts.info).to.deep.equal({
      rollups: [
        {
          name: "monthly",
          table: "expense_months",
          zone: "Europe/Berlin",
          groups: ["category"],
          measures: ["total", "n"],
        },
        {
          name: "shop_months",
          table: "shop_months",
          zone: "Asia/Tokyo",
          groups: ["category"],
          measures: ["total", "n"],
        },
      ],
      refresh: "inline",
      verify_every: 0,
      repair: false,
    });
  });

  it("reports an unknown zone, values that are not rollups, and two rollups with one table", async () => {
    const faultsOf = async (options: object): Promise<readonly string[]> =>
      (await start({ options, db, jobs: queue })).faults;
    const rollups = {
      a: defineRollup(EXPENSES),
      b: defineRollup({ ...EXPENSES, name: "other", table: "expense_months" }),
    };
    expect(await faultsOf({ rollups, zone: "Mars/Base" })).to.deep.equal([
      'plugin.rollups.zone must be an IANA time zone such as Europe/Berlin or UTC; it is "Mars/Base"',
    ]);
    expect(await faultsOf({ rollups })).to.deep.equal([
      "rollups.b has the table expense_months, as rollups.a; choose another table",
    ]);
    const wrong = { a: 5, b: {}, c: { ...draft, timeZone: "BST" }, d: { refresh: () => undefined } };
    expect((await faultsOf({ rollups: wrong })).join("\n")).to.equal(
      [
        "rollups.b.source is required and must be an object with table, tenantColumn and timeColumn",
        "rollups.b.measures is required and must be an object",
        'rollups.c.timeZone must be an IANA time zone such as Europe/Berlin or UTC; it is "BST"',
        "rollups.a must be a rollup returned by defineRollup()",
        "rollups.d must be a rollup returned by defineRollup()",
      ].join("\n"),
    );
    expect(await faultsOf({ rollups: { a: 5, d: { refresh: () => undefined } } })).to.deep.equal([
      "rollups.a must be a rollup returned by defineRollup()",
      "rollups.d must be a rollup returned by defineRollup()",
    ]);
  });

  it("reports all wrong parts of a rollup with their full paths", async () => {
    const rollups = {
      a: { source: {}, groupBy: { shop: {} }, measures: { total: {}, n: { sql: "count(*)" } } },
      b: { ...draft, table: "a.b.c", source: { ...draft.source, tenantTable: "x.y.z" }, name: "B" },
    };
    const { faults } = await start({ options: { rollups }, db, jobs: queue });
    expect(faults.map((each) => each.split(" ")[0])).to.deep.equal([
      "rollups.a.source.table",
      "rollups.a.source.tenantColumn",
      "rollups.a.source.timeColumn",
      "rollups.a.groupBy.shop.column",
      "rollups.a.measures.total.sql",
      "rollups.a.measures.total.type",
      "rollups.a.measures.n.type",
      "rollups.b.name",
      "rollups.b.source.tenantTable",
    ]);
  });

  it("refuses two rollups of which only one names the schema of its table", async () => {
    const rollups = {
      a: { ...draft, table: "tt" },
      b: { ...draft, table: "public.tt" },
      c: { ...draft, table: "other.uu" },
      d: { ...draft, table: "public.uu" },
    };
    expect((await start({ options: { rollups }, db, jobs: queue })).faults).to.deep.equal([
      "rollups.b has the table public.tt, which may be tt of rollups.a: write both with their schema, or choose another table",
    ]);
  });

  it("refuses refreshLater() without the plugin queue", async () => {
    const rollups = { monthly: defineRollup(EXPENSES) };
    const { parts } = await start({ options: { rollups }, db, enabled: ["database"] });
    const { monthly } = parts.parts?.rollups ?? {};
    for (const call of [monthly?.refreshLater(db, {} as never), monthly?.refreshLaterMany(db, [])]) {
      const error = await rejection(Promise.resolve(call));
      expect(error.message).to.equal(
        "the service is configured wrongly (1 fault):\n  - rollups.monthly: refreshLater() needs the plugin queue: enable it",
      );
    }
  });

  it("adds the handlers of refreshes, and with verify_every a schedule, its handlers and a metric", async () => {
    let drift: (() => Promise<object>) | undefined;
    const tools = { driftMetric: async (given: () => Promise<object>) => void (drift = given) };
    const rollups = { monthly: defineRollup(EXPENSES) };
    const plain = await start({ options: { rollups }, db, jobs: queue, tools });
    expect(Object.keys(plain.parts.handlers ?? {})).to.deep.equal(["rollup.refresh.expense_months"]);
    expect([plain.parts.schedules, plain.parts.schemas?.map(({ key }) => key), drift]).to.deep.equal([
      undefined,
      ["rollups.monthly"],
      undefined,
    ]);
    const options = { rollups, verifyEverySeconds: 3600 };
    const { parts } = await start({ options, db, jobs: queue, tools });
    expect(parts.schedules).to.deep.equal({
      "rollups:verify": { everySeconds: 3600, task: "rollups:verify" },
    });
    expect(Object.keys(parts.handlers ?? {})).to.deep.equal([
      "rollup.refresh.expense_months",
      "rollups:verify",
      "rollups:verify-tenants",
    ]);
    // The source does not exist yet, and the table of verifications does not need it.
    await parts.schemas?.[0]?.ensureSchema();
    expect(await drift?.()).to.deep.equal({});
    // A service would reject handlers without a queue.
    expect((await start({ options: { rollups }, db, enabled: ["database"] })).parts.handlers).to.deep.equal(
      {},
    );
  });

  describe("with its parts started", () => {
    let made = 0;
    const fresh = (): string => `late_${(made += 1)}`;
    const columns = "(tenant_id text, spent_at timestamptz, category text, amount numeric)";

    async function started(source: string, more: object = {}, pool: unknown = db) {
      const rollup = defineRollup({
        ...EXPENSES,
        name: `${source}_months`,
        source: { ...EXPENSES.source, table: source },
        ...more,
      });
      const { parts } = await start({ options: { rollups: { monthly: rollup } }, db: pool, jobs: queue });
      const [schema] = parts.schemas ?? [];
      const [check] = parts.checks ?? [];
      const [work] = parts.work ?? [];
      if (schema === undefined || check === undefined || work === undefined)
        throw new Error("a part is missing");
      const ready = async () => check.check(AbortSignal.timeout(5000));
      return { schema, work, ready, check };
    }

    it("creates the tables, and reports them in the check", async () => {
      const source = fresh();
      await db.query(`create table ${source} ${columns}`);
      const { schema, ready, check } = await started(source);
      expect(check).to.include({ name: "rollups", critical: false });
      expect(await ready()).to.deep.include({
        healthy: false,
        detail: "rollup monthly: its tables are not created yet",
      });
      await schema.ensureSchema();
      expect(await ready()).to.deep.include({ healthy: true, detail: "1 rollup(s)" });
      await db.query(`drop table ${source}_months`);
      expect(await ready()).to.deep.include({
        healthy: false,
        detail: `rollup monthly: the table ${source}_months is missing`,
      });
    });

    it("starts before its source exists, and becomes healthy after the source is created", async () => {
      const source = fresh();
      const { schema, work, ready } = await started(source);
      await schema.ensureSchema();
      expect(await ready()).to.deep.include({
        healthy: false,
        detail: `rollup monthly: the source ${source} is missing: create it`,
      });
      await db.query(`create table ${source} ${columns}`);
      work.start();
      while (!(await ready()).healthy) await new Promise((done) => setTimeout(done, 20));
      await work.stop();
    });

    it("rejects a missing column and a table of another definition at the first attempt, and later only reports them", async () => {
      const source = fresh();
      await db.query(`create table ${source} ${columns}`);
      const { schema, work, ready } = await started(source, {
        groupBy: { shop: { column: "shop" } },
      });
      const attempt = async (): Promise<readonly string[]> => {
        try {
          await schema.ensureSchema();
          return [];
        } catch (error) {
          return (error as ConfigurationError).faults.map(({ message }) => message);
        }
      };
      const message = "the source cannot be aggregated as defined: column source.shop does not exist";
      expect(await attempt()).to.deep.equal([message]);
      expect(await attempt()).to.deep.equal([]);
      expect(await ready()).to.deep.include({ healthy: false, detail: `rollup monthly: ${message}` });
      await db.query(`alter table ${source} add column shop text`);
      work.start();
      while (!(await ready()).healthy) await new Promise((done) => setTimeout(done, 20));
      await work.stop();

      const other = await started(source);
      const error: unknown = await Promise.resolve(other.schema.ensureSchema()).catch(
        (each: unknown) => each,
      );
      expect((error as ConfigurationError).faults).to.deep.equal([
        {
          key: "rollups.monthly",
          message: `${source}_months is grouped by tenant_id, month, shop, not by tenant_id, month, category: choose another table`,
        },
      ]);
    });

    it("reports a missing tenantTable until it is created, and creates the other tables without it", async () => {
      const source = fresh();
      await db.query(`create table ${source} ${columns}`);
      const tenants = `${source}_tenants`;
      const own = { ...EXPENSES.source, table: source, tenantTable: tenants };
      const { schema, work, ready } = await started(source, { source: own });
      await schema.ensureSchema();
      expect(await ready()).to.deep.include({
        healthy: false,
        detail: `rollup monthly: the table ${tenants} of source.tenantTable is missing: create it`,
      });
      expect((await db.query(`select from ${source}_months`)).rows).to.deep.equal([]);
      await db.query(`create table ${tenants} (tenant_id text primary key)`);
      work.start();
      while (!(await ready()).healthy) await new Promise((done) => setTimeout(done, 20));
      await work.stop();
    });

    it("reports a verification that makes no progress, and tenants that could not be compared", async () => {
      await using each = await openExpenses(database.url);
      const rollups = { monthly: each.rollup };
      const { parts } = await start({ options: { rollups, verifyEverySeconds: 60 }, db, jobs: queue });
      await parts.schemas?.[0]?.ensureSchema();
      const ready = async () => parts.checks?.[0]?.check(AbortSignal.timeout(5000));
      const found = {
        tenants: 5,
        buckets: 2,
        differing: 1,
        repaired: 1,
        examples: [],
        unrepaired: "it is too long",
        failed: 1,
        failures: [{ tenant: "b", reason: "SQLSTATE 22012" }],
      };
      await db.query(
        "insert into svc_rollup_verifications values ($1, now(), 1, now(), null, $2, now(), now())",
        [each.rollup.table, JSON.stringify(found)],
      );
      const note = `rollup monthly: 2 bucket(s) of 1 tenant(s) differ from their rows, 1 of them were repaired (it is too long), 1 tenant(s) could not be compared (SQLSTATE 22012)`;
      expect(await ready()).to.deep.include({ healthy: false, detail: `${note}; last verified 0 s ago` });
      await db.query(
        `update svc_rollup_verifications set running = found, found = null, moved_at = now() - interval '16 minutes'
          where rollup = $1`,
        [each.rollup.table],
      );
      expect(await ready()).to.deep.include({
        healthy: false,
        detail:
          "rollup monthly: its verification has not moved for 16 min: see its jobs of the task rollups:verify-tenants; not verified yet",
      });
    });

    it("stops although the database hangs", async () => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const hanging = new Pool({ connectionString: `postgres://127.0.0.1:${port}/x` });
      // This limit is longer than the time limit of the test.
      const { work } = await started(fresh(), { commandTimeoutMs: 600_000 }, hanging);
      work.start();
      while (sockets.size === 0) await new Promise((done) => setTimeout(done, 20));
      await work.stop();
      for (const socket of sockets) socket.destroy();
      server.close();
      await hanging.end();
    });

    it("closes a connection on stop while its statement waits for a response", async () => {
      const source = fresh();
      await db.query(`create table ${source} ${columns}`);
      const pool = openPool(database.url, 2);
      const { schema, work } = await started(source, { commandTimeoutMs: 600_000 }, pool);
      // The totals need the shared tables, which another transaction locks.
      await withTransaction(db, async (tx) => {
        await tx.query("lock table svc_rollups in access exclusive mode");
        void Promise.resolve(schema.ensureSchema());
        work.start();
        const waiting =
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while ((await tx.query(waiting)).rows.length < 2) {
          await tx.query("select pg_stat_clear_snapshot()");
          await new Promise((done) => setTimeout(done, 20));
        }
        await work.stop();
        expect(pool.totalCount).to.equal(0);
      });
      await pool.end();
    });

    it("ROLL-4 reports a change of the zone until rebuildAll() has run", async () => {
      await using each = await openExpenses(database.url);
      const { pool, rollup, source } = each;
      const moved = defineRollup({
        ...EXPENSES,
        name: rollup.name,
        source: { ...EXPENSES.source, table: source },
        timeZone: "America/Lima",
      });
      const { parts } = await start({ options: { rollups: { monthly: moved } }, db: pool, jobs: queue });
      await parts.schemas?.[0]?.ensureSchema();
      const ready = async () => parts.checks?.[0]?.check(AbortSignal.timeout(5000));
      expect(await ready()).to.deep.include({
        healthy: false,
        detail:
          "rollup monthly: its totals use months in Europe/Berlin, not in America/Lima, so it refuses to answer: call rebuildAll() once",
      });
      await parts.parts?.rollups["monthly"]?.rebuildAll();
      expect(await ready()).to.deep.include({ healthy: true });
    });

    it("reports a database that does not answer", async () => {
      const source = fresh();
      const down = new Pool({ connectionString: "postgres://127.0.0.1:1/x", connectionTimeoutMillis: 500 });
      const { schema, ready } = await started(source, {}, down);
      await schema.ensureSchema();
      expect(await ready()).to.deep.include({
        healthy: false,
        detail: "rollup monthly: the database does not answer (ECONNREFUSED)",
      });
      await down.end();
    });
  });
});
