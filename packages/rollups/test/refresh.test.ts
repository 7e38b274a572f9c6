import { testDatabase } from "@svc/dev-services";
import { RollupError } from "@svc/rollups";
import { type Queryable, withTransaction } from "@svc/sql";
import { badTenantIds, rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Expenses, openClient, openExpenses } from "./support/expenses.ts";

describe("refresh()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollups" });

  const refresh = ({ pool, rollup }: Expenses, tenant: string | null, at: string | Date): Promise<unknown> =>
    withTransaction(pool, (tx) => rollup.refresh(tx, { tenant, at }));
  const acme = { tenant_id: "acme" };

  it("ROLL-1 ROLL-5 computes the bucket of an instant: the totals of its tenant and local month, by group", async () => {
    await using each = await openExpenses(database.url);
    await each.add("acme", "2026-03-31T21:59:59.999Z", "food", 10);
    await each.add("acme", "2026-03-31T22:00:00Z", "food", 1);
    await each.add("acme", "2026-02-28T23:00:00Z", "fuel", 5.5);
    await each.add("acme", "2026-02-28T22:59:59.999Z", "fuel", 1);
    await each.add("globex", "2026-03-10T12:00:00Z", "food", 99);
    expect(await refresh(each, "acme", "2026-03-15T12:00:00+01:00")).to.deep.equal({
      month: "2026-03-01",
      written: 2,
      removed: 0,
    });
    expect(await each.totals()).to.deep.equal([
      { ...acme, month: "2026-03-01", category: "food", total: 10, n: 1 },
      { ...acme, month: "2026-03-01", category: "fuel", total: 5.5, n: 1 },
    ]);
  });

  it("ROLL-2 writes only totals that differ, and deletes totals whose group has no rows", async () => {
    await using each = await openExpenses(database.url);
    const { pool, rollup, source } = each;
    const at = new Date("2026-03-15T12:00:00Z");
    const id = await each.add("acme", "2026-03-10T12:00:00Z", "food", 10);
    await each.add("acme", "2026-03-10T12:00:00Z", "fuel", null);
    await refresh(each, "acme", at);
    await withTransaction(pool, async (tx) => {
      expect(await rollup.refresh(tx, { tenant: "acme", at })).to.include({ written: 0, removed: 0 });
      const { rows } = await tx.query("select pg_current_xact_id_if_assigned() is null as untouched");
      expect(rows).to.deep.equal([{ untouched: true }]);
    });
    await pool.query(`update ${source} set category = 'rent' where id = $1`, [id]);
    expect(await refresh(each, "acme", at)).to.include({ written: 1, removed: 1 });
    expect(await each.totals()).to.deep.equal([
      { ...acme, month: "2026-03-01", category: "fuel", total: null, n: 1 },
      { ...acme, month: "2026-03-01", category: "rent", total: 10, n: 1 },
    ]);
    await pool.query(`delete from ${source}`);
    expect(await refresh(each, "acme", at)).to.include({ written: 0, removed: 2 });
    expect(await refresh(each, "nobody", at)).to.include({ written: 0, removed: 0 });
    expect(await each.totals()).to.deep.equal([]);
  });

  it("ROLL-4 computes the same totals under any session settings", async () => {
    await using each = await openExpenses(database.url);
    const { rollup, source } = each;
    await using client = await openClient(database.url);
    for (const [index, setting] of [
      "extra_float_digits = -15",
      "datestyle = 'German'",
      "timezone = 'Pacific/Kiritimati'",
      "intervalstyle = 'sql_standard'",
      "standard_conforming_strings = off",
      "plan_cache_mode = force_generic_plan",
    ].entries()) {
      await client.query(`set ${setting}`);
      await each.add("o'br\\ien", "2026-03-31T21:30:00Z", "it\\'s", 1);
      const done = await withTransaction(client, (tx) =>
        rollup.refresh(tx, { tenant: "o'br\\ien", at: "2026-04-01T00:00:00+03:00" }),
      );
      expect(done, setting).to.deep.equal({ month: "2026-03-01", written: 1, removed: 0 });
      expect(
        (await each.totals()).map(({ n }) => n),
        `${setting} of ${source}`,
      ).to.deep.equal([index + 1]);
      await client.query("reset all");
    }
  });

  it("ROLL-2 is rolled back with its transaction", async () => {
    await using each = await openExpenses(database.url);
    const failed = withTransaction(each.pool, async (tx) => {
      await tx.query(
        `insert into ${each.source} (tenant_id, spent_at, amount) values ('acme', '2026-03-10Z', 1)`,
      );
      expect(await each.rollup.refresh(tx, { tenant: "acme", at: "2026-03-10T00:00:00Z" })).to.include({
        written: 1,
      });
      throw new Error("later");
    });
    expect(await rejection(failed)).to.have.property("message", "later");
    expect(await each.totals()).to.deep.equal([]);
  });

  it("ROLL-6 stores one total for rows without a tenant, and one for rows without a group", async () => {
    await using each = await openExpenses(database.url);
    const at = "2026-03-10T12:00:00Z";
    for (const tenant of [null, "acme"]) {
      for (const category of [null, null, ""]) await each.add(tenant, at, category, 1);
    }
    for (const tenant of [null, "acme", null, "acme"]) await refresh(each, tenant, at);
    await refresh(each, null, at);
    const month = "2026-03-01";
    expect(await each.totals()).to.deep.equal([
      { ...acme, month, category: "", total: 1, n: 1 },
      { ...acme, month, category: null, total: 2, n: 2 },
      { tenant_id: null, month, category: "", total: 1, n: 1 },
      { tenant_id: null, month, category: null, total: 2, n: 2 },
    ]);
  });

  it("ROLL-6 uses `whenNull` as the group of NULL, and accepts a source without a tenant column", async () => {
    await using each = await openExpenses(database.url, {
      source: { table: "", tenantColumn: null, timeColumn: "spent_at", where: "amount > 0" },
      groupBy: { kind: { column: "category", type: "varchar(8)", whenNull: "none" } },
    });
    const at = "2026-03-10T12:00:00Z";
    for (const category of [null, "none", "food"]) await each.add("whoever", at, category, 1);
    await each.add("whoever", at, "food", 0);
    await refresh(each, null, at);
    const kept = { tenant_id: null, month: "2026-03-01" };
    expect(await each.totals()).to.deep.equal([
      { ...kept, kind: "food", total: 1, n: 1 },
      { ...kept, kind: "none", total: 2, n: 2 },
    ]);
    const error = await rejection(refresh(each, "acme", at));
    expect(error).to.have.property("message").that.contains("must be null");
  });

  // Months whose first instant is hard to compute, most of them because local midnight occurs twice or is skipped.
  const EDGES: readonly (readonly [zone: string, first: string, month: string])[] = [
    ["America/Havana", "2026-11-01T04:00:00Z", "2026-11-01"],
    ["Cuba", "2012-04-01T05:00:00Z", "2012-04-01"],
    ["Asia/Amman", "2016-03-31T22:00:00Z", "2016-04-01"],
    ["America/Asuncion", "2023-10-01T04:00:00Z", "2023-10-01"],
    ["Africa/Cairo", "2014-07-31T22:00:00Z", "2014-08-01"],
    ["America/St_Johns", "2009-11-01T02:30:00Z", "2009-11-01"],
    ["Asia/Kathmandu", "2026-02-28T18:15:00Z", "2026-03-01"],
    ["Pacific/Kiritimati", "1994-12-31T10:00:00Z", "1995-01-01"],
    ["Europe/Berlin", "1916-09-30T22:00:00Z", "1916-10-01"],
    ["UTC", "1969-12-01T00:00:00Z", "1969-12-01"],
    ["UTC", "1000-02-01T00:00:00Z", "1000-02-01"],
  ];

  it("ROLL-4 starts a month at the first instant of its first day, even if clocks change at that time", async () => {
    for (const [timeZone, first, month] of EDGES) {
      await using each = await openExpenses(database.url, { timeZone });
      const start = new Date(first);
      const instants = [-3_600_000, -1, 0, 1_799_999, 3_600_000].map((ms) => new Date(start.getTime() + ms));
      for (const at of instants) await each.add("acme", at.toISOString(), "food", 1);
      for (const [index, at] of instants.entries()) {
        // Each refresh must compute the bucket that contains its instant.
        const done = await withTransaction(each.pool, (tx) =>
          each.rollup.refresh(tx, { tenant: "acme", at }),
        );
        expect(done.month === month, `${timeZone} ${at.toISOString()} is in ${done.month}`).to.equal(
          index > 1,
        );
      }
      const totals = (await each.totals()).map((total) => [total["month"] === month, total["n"]]);
      expect(totals, timeZone).to.deep.equal([
        [false, 2],
        [true, 3],
      ]);
      expect(await each.rollup.rebuildAll(each.pool)).to.deep.equal({ written: 0, removed: 0 });
    }
  });

  it("ROLL-4 rounds an instant to microseconds, as the server does when it stores a row", async () => {
    await using each = await openExpenses(database.url, { timeZone: "UTC" });
    for (const [at, month] of [
      ["2026-03-31T23:59:59.999999Z", "2026-03-01"],
      ["2026-03-31T23:59:59.9999994Z", "2026-03-01"],
      ["2026-03-31T23:59:59.9999995Z", "2026-04-01"],
      ["2026-03-31T23:59:59.999999999Z", "2026-04-01"],
      ["2026-12-31T22:59:59.99999999-01:00", "2027-01-01"],
    ] as const) {
      await each.add("acme", at, "food", 1);
      expect(await refresh(each, "acme", at), at).to.deep.equal({ month, written: 1, removed: 0 });
    }
    expect(await each.rollup.rebuildAll(each.pool)).to.deep.equal({ written: 0, removed: 0 });
  });

  it("rejects pools, connections without a transaction, and isolation levels other than READ COMMITTED", async () => {
    await using each = await openExpenses(database.url);
    const { pool, rollup } = each;
    await using client = await openClient(database.url);
    const moment = { tenant: "acme", at: "2026-03-10T12:00:00Z" };
    await each.add("acme", moment.at, "food", 1);
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => rollup.refresh(pool, moment),
      () => rollup.refresh(client, moment),
      () => rollup.refreshMany(client, [moment]),
      () => rollup.refresh({} as Queryable, moment),
      () => withTransaction(pool, (tx) => rollup.refresh(tx, moment), { isolation: "repeatable read" }),
      () => withTransaction(client, (tx) => rollup.refresh(tx, moment), { isolation: "serializable" }),
      () =>
        rollup.rebuildAll({
          query: (text: string, values?: unknown[]) =>
            /^(begin|savepoint|commit|release|rollback)/.test(text)
              ? Promise.resolve({ rows: [] })
              : client.query(text, values),
        } as Queryable),
    ];
    for (const attempt of attempts) {
      const error = await rejection(Promise.resolve().then(attempt));
      expect(error).to.be.instanceOf(RollupError).and.have.property("code", "ERR_SVC_ROLLUP_TRANSACTION");
    }
    expect(await each.totals()).to.deep.equal([]);
    // Count only locks of this database: other tests use other databases of the same server.
    const { rows } = await client.query(
      `select from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(rows).to.have.length(0);
  });

  it("rejects a string that is too long without aborting the transaction", async () => {
    await using each = await openExpenses(database.url);
    const at = "2026-03-10T12:00:00Z";
    await each.add("acme", at, "food", 1);
    await refresh(each, "acme", at);
    const before = await each.totals();
    const id = await each.add("acme", at, "x".repeat(10_000), 1);
    await each.add("acme", at, "\u{1F354}".repeat(64), 1);
    await withTransaction(each.pool, async (tx) => {
      const error = await rejection(each.rollup.refresh(tx, { tenant: "acme", at }));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_GROUP");
      expect(error).to.have.property("message").that.contains("category is longer than 64 characters");
      await tx.query("select 1");
    });
    expect(await rejection(each.rollup.rebuildAll(each.pool))).to.have.property(
      "code",
      "ERR_SVC_ROLLUP_GROUP",
    );
    expect(await each.totals()).to.deep.equal(before);
    await each.pool.query(`delete from ${each.source} where id = $1`, [id]);
    expect(await refresh(each, "acme", at)).to.include({ written: 1 });
    await each.pool.query(
      `insert into ${each.source} (tenant_id, spent_at) values (repeat('t', 3000), now())`,
    );
    const tenant = await rejection(each.rollup.rebuildAll(each.pool));
    expect(tenant).to.have.property("message").that.contains("tenant_id is longer than 255");
  });

  it("truncates a string that is too long when tooLong is `cut`, and adds it to the group of the truncated string", async () => {
    await using each = await openExpenses(database.url, {
      groupBy: { category: { column: "category", type: "varchar(4)", tooLong: "cut" } },
    });
    const at = "2026-03-10T12:00:00Z";
    for (const category of ["food", "foods", `food${"x".repeat(10_000)}`])
      await each.add("acme", at, category, 1);
    await refresh(each, "acme", at);
    expect(await each.totals()).to.deep.equal([
      { ...acme, month: "2026-03-01", category: "food", total: 3, n: 3 },
    ]);
    const range = { tenant: "acme", from: "2026-03-01", to: "2026-03-01" };
    expect((await each.rollup.verify(each.pool, range)).drift).to.deep.equal([]);
  });

  it("ROLL-5 refreshMany() refreshes the buckets of the given instants once each, ordered by tenant and month", async () => {
    await using each = await openExpenses(database.url);
    const moments = [
      { tenant: "b", at: "2026-03-10T12:00:00Z" },
      { tenant: "a", at: "2026-04-10T12:00:00Z" },
      { tenant: "b", at: "2026-03-31T21:59:59Z" },
      { tenant: "a", at: "2026-02-10T12:00:00Z" },
      { tenant: null, at: "2026-03-10T12:00:00Z" },
    ];
    for (const { tenant, at } of moments) await each.add(tenant, at, "food", 1);
    const done = await withTransaction(each.pool, (tx) => each.rollup.refreshMany(tx, moments));
    expect(done.map(({ tenant, month, written }) => [tenant, month, written])).to.deep.equal([
      [null, "2026-03-01", 1],
      ["a", "2026-02-01", 1],
      ["a", "2026-04-01", 1],
      ["b", "2026-03-01", 1],
    ]);
    expect(await withTransaction(each.pool, (tx) => each.rollup.refreshMany(tx, []))).to.deep.equal([]);
  });

  it("supports tenants of type uuid and integer, and totals without groups", async () => {
    await using each = await openExpenses(database.url);
    const { pool } = each;
    const { defineRollup } = await import("@svc/rollups");
    await pool.query("create table trips (account uuid, crew int, at timestamptz, km int)");
    const account = "8F14E45F-CEEA-467F-A9AB-3F0C5B6D8E21";
    await pool.query("insert into trips values ($1, 7, '2026-03-10T12:00Z', 5)", [account]);
    const shared = { measures: { km: { sql: "sum(km)", type: "bigint" } }, timeZone: "UTC" } as const;
    const source = { table: "trips", timeColumn: "at" } as const;
    const byAccount = defineRollup({
      ...shared,
      name: "by_account",
      source: { ...source, tenantColumn: "account", tenantType: "uuid" },
    });
    const byCrew = defineRollup({
      ...shared,
      name: "by_crew",
      source: { ...source, tenantColumn: "crew", tenantType: "integer" },
    });
    const range = { from: "2026-03-01", to: "2026-03-01" };
    for (const [rollup, tenant] of [
      [byAccount, account],
      [byCrew, 7n],
    ] as const) {
      await rollup.ensureSchema(pool);
      const done = () =>
        withTransaction(pool, (tx) => rollup.refresh(tx, { tenant, at: "2026-03-01T00:00:00Z" }));
      expect(await done()).to.include({ written: 1 });
      expect(await rollup.query(pool, tenant, range)).to.deep.equal([{ month: "2026-03-01", km: "5" }]);
      await pool.query("delete from trips where $1 = 'by_crew'", [rollup.name]);
      expect(await rollup.rebuildAll(pool)).to.deep.equal({ written: 0, removed: rollup === byCrew ? 1 : 0 });
    }
  });

  it("rejects invalid tenants and instants before sending a statement", async () => {
    await using each = await openExpenses(database.url);
    const silent: Queryable = { query: () => Promise.reject(new Error("sent")) };
    const at = "2026-03-10T12:00:00Z";
    const wrong: unknown[] = [
      undefined,
      "x",
      {},
      { tenant: "acme" },
      { at },
      { tenant: "", at },
      { tenant: 7, at },
      { tenant: "x".repeat(256), at },
      ...Object.values(badTenantIds).map((tenant) => ({ tenant, at })),
      { tenant: "acme", at, month: 3 },
      ...[
        "2026-03-10",
        "2026-03-10T12:00:00",
        "2026-03-10T12:00:000Z",
        "2026-02-30T12:00:00Z",
        "2026-03-10T25:00:00Z",
        "0999-12-31T00:00:00Z",
        "9999-01-01T00:00:00Z",
        "2026-03-10T12:00:00Z'; --",
        "now",
        new Date(NaN),
        new Date(8.64e15),
        Date.parse(at),
        null,
      ].map((each) => ({ tenant: "acme", at: each })),
    ];
    for (const moment of wrong) {
      const error = await rejection(each.rollup.refresh(silent, moment as { tenant: string; at: string }));
      expect(error, JSON.stringify(moment)).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    }
    const many = await rejection(each.rollup.refreshMany(silent, Array(10_001).fill({ tenant: "acme", at })));
    expect(many).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
  });

  it("refreshMany() rejects more than 1,000 buckets", async () => {
    await using each = await openExpenses(database.url);
    const months = Array.from({ length: 1001 }, (_, month) => ({
      tenant: null,
      at: new Date(Date.UTC(1900, month, 15)),
    }));
    const all = (moments: typeof months): Promise<unknown> =>
      withTransaction(each.pool, (tx) => each.rollup.refreshMany(tx, moments));
    const error = await rejection(all([...months, ...months]));
    expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    expect(error).to.have.property("message").that.contains("more than 1000 buckets");
  });

  it("sends hostile tenants and strings as parameters, not in the SQL", async () => {
    await using each = await openExpenses(database.url);
    const hostile = "'; drop table expenses; -- \\ \u{1F4A3} %s $1";
    await each.add(hostile, "2026-03-10T12:00:00.123456Z", hostile, 1);
    expect(await refresh(each, hostile, "2026-03-10t12:00:00.123456z")).to.include({ written: 1 });
    const range = { from: "2026-03-01", to: "2026-03-31" };
    expect(await each.rollup.query(each.pool, hostile, range)).to.deep.equal([
      { month: "2026-03-01", category: hostile, total: "1", n: "1" },
    ]);
  });
});
