import { testDatabase } from "@svc/dev-services";
import {
  enableRowSecurity,
  IdentifierError,
  OptionError,
  type Queryable,
  type RowSecurityOptions,
  rowSecurityStatements,
  SchemaError,
  sqlStateOf,
  withTransaction,
} from "@svc/sql";
import { expect } from "chai";
import type pg from "pg";
import { randomBytes } from "node:crypto";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

const one = "00000000-0000-4000-8000-000000000001";
const two = "00000000-0000-4000-8000-000000000002";

describe("row security", () => {
  // Registered first, so that it runs before the database is dropped.
  after(async () => {
    await pool.end();
    await admin.query(`drop owned by ${owner}`);
    await admin.query(`drop role ${owner}`);
    await end();
  });
  const database = testDatabase({ name: "row_security" });
  const { pool: newPool, end } = connections(() => database.url);
  // The tests' login may be a superuser, which bypasses all policies.
  const owner = `owner_${randomBytes(4).toString("hex")}`;
  let admin: pg.Pool;
  let pool: pg.Pool;
  before(async () => {
    admin = newPool({ max: 2 });
    await admin.query(`create role ${owner} login password 'owner' nosuperuser nobypassrls`);
    await admin.query(`create schema authorization ${owner}`);
    const url = new URL(database.url);
    url.username = owner;
    url.password = "owner";
    pool = newPool({ connectionString: url.href, max: 4 });
  });

  const as = <T>(tenant: string, work: (tx: Queryable) => Promise<T>): Promise<T> =>
    withTransaction(pool, work, { settings: { "svc.tenant": tenant } });
  const count = async (db: Queryable, table: string): Promise<unknown> =>
    (await db.query(`select count(*)::int as count from ${table}`)).rows[0]?.["count"];

  for (const [type, a, b] of [
    ["text", "acme", "globex"],
    ["varchar(80)", "acme", "globex"],
    ["uuid", one, two],
    ["integer", "1", "2"],
    ["bigint", "1", "9007199254740993"],
  ] as const) {
    it(`separates the rows of tenants of type ${type}, even for the table's owner`, async () => {
      const table = `items_${type.replace(/\W.*/, "")}`;
      await pool.query(`create table ${table} (tenant_id ${type} not null, name text)`);
      expect(await enableRowSecurity(pool, { table })).to.equal("created");
      expect(await enableRowSecurity(pool, { table })).to.equal("present");
      for (const tenant of [a, b]) {
        await as(tenant, (tx) => tx.query(`insert into ${table} values ($1, 'n')`, [tenant]));
      }
      expect(await as(a, async (tx) => (await tx.query(`select * from ${table}`)).rows)).to.deep.equal([
        { tenant_id: type === "integer" ? 1 : a, name: "n" },
      ]);
      const foreign = await failure(as(a, (tx) => tx.query(`insert into ${table} values ($1, 'n')`, [b])));
      expect(sqlStateOf(foreign)).to.equal("42501");
      const moved = await failure(as(a, (tx) => tx.query(`update ${table} set tenant_id = $1`, [b])));
      expect(sqlStateOf(moved)).to.equal("42501");
      const changed = await as(a, (tx) =>
        tx.query(`update ${table} set name = 'x' where tenant_id = $1`, [b]),
      );
      expect(changed.rowCount).to.equal(0);
      expect((await as(b, (tx) => tx.query(`delete from ${table}`))).rowCount).to.equal(1);
      expect(await count(admin, `${owner}.${table}`)).to.equal(1);
    });
  }

  it("returns no rows and rejects inserts without a tenant, even after an earlier transaction set one", async () => {
    await pool.query("create table bare (tenant_id text, id int)");
    await enableRowSecurity(pool, { table: "bare" });
    await as("acme", (tx) => tx.query("insert into bare values ('acme', 1)"));
    await admin.query(`insert into ${owner}.bare values ('', 2), (null, 3)`);
    for (let i = 0; i < 8; i++) {
      expect(await count(pool, "bare")).to.equal(0);
      expect((await pool.query("update bare set id = 5")).rowCount).to.equal(0);
      for (const tenant of ["'acme'", "''", "null"]) {
        const error = await failure(pool.query(`insert into bare values (${tenant}, 9)`));
        expect(sqlStateOf(error)).to.equal("42501");
      }
    }
    expect(await as("acme", (tx) => count(tx, "bare"))).to.equal(1);
  });

  it("reads the catalogue first, and waits for no lock and needs no privileges when nothing is missing", async () => {
    await pool.query("create table held (tenant_id text)");
    await enableRowSecurity(pool, { table: "held" });
    const reader = `reader_${randomBytes(4).toString("hex")}`;
    await admin.query(`create role ${reader}`);
    await admin.query(`grant usage on schema ${owner} to ${reader}`);
    const connection = await admin.connect();
    try {
      await withTransaction(pool, async (holder) => {
        await holder.query("lock table held in row exclusive mode");
        await connection.query("begin");
        await connection.query(`set local role ${reader}`);
        const table = `${owner}.held`;
        expect(await enableRowSecurity(connection, { table })).to.equal("present");
        const { rows } = await connection.query(
          `select mode from pg_locks where pid = pg_backend_pid() and (locktype = 'advisory'
            or relation = '${table}'::regclass and mode <> 'AccessShareLock')`,
        );
        expect(rows).to.deep.equal([]);
        await connection.query("rollback");
      });
    } finally {
      connection.release();
      await admin.query(`drop owned by ${reader}`);
      await admin.query(`drop role ${reader}`);
    }
  });

  it("restores settings and policies that are missing or were changed", async () => {
    await pool.query("create table repaired (tenant_id text, other text)");
    const options = { table: "repaired" };
    await enableRowSecurity(pool, options);
    for (const damage of [
      "alter table repaired no force row level security",
      "alter table repaired disable row level security",
      "drop policy svc_tenant on repaired",
      "alter policy svc_tenant on repaired using (true)",
      "alter policy svc_tenant on repaired with check (true)",
      "alter policy svc_tenant on repaired using (other = nullif(current_setting('svc.tenant', true), ''))",
      `alter policy svc_tenant on repaired to ${owner}`,
    ]) {
      await pool.query(damage);
      expect(await enableRowSecurity(pool, options), damage).to.equal("created");
      expect(await enableRowSecurity(pool, options)).to.equal("present");
    }
    expect(await enableRowSecurity(pool, { ...options, setting: "app.tenant" })).to.equal("created");
  });

  it("can be enabled by several processes concurrently, and inside a transaction", async () => {
    await pool.query("create table herd (tenant_id text)");
    const all = await Promise.all(
      Array.from({ length: 8 }, () => enableRowSecurity(pool, { table: "herd" })),
    );
    expect(all.filter((each) => each === "created")).to.have.lengthOf(1);
    await withTransaction(pool, async (tx) => {
      await tx.query("create table migrated (tenant_id text)");
      expect(await enableRowSecurity(tx, { table: "migrated" })).to.equal("created");
    });
    expect(await enableRowSecurity(pool, { table: "migrated" })).to.equal("present");
  });

  it("separates the rows of a table with spaces, quotes and parentheses in its names", async () => {
    const table = '"My ""Table"';
    await pool.query(`create table ${table} ("Tenant (uuid)" uuid)`);
    const options = { table: 'My "Table', column: "Tenant (uuid)", setting: "app.tenant", policy: "a b" };
    expect(await enableRowSecurity(pool, options)).to.equal("created");
    expect(await enableRowSecurity(pool, options)).to.equal("present");
    const insert = `insert into ${table} values ($1)`;
    for (const [tenant, other] of [
      [one, two],
      [two, one],
    ] as const) {
      const own = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
        withTransaction(pool, work, { settings: { "app.tenant": tenant } });
      await own((tx) => tx.query(insert, [tenant]));
      expect(sqlStateOf(await failure(own((tx) => tx.query(insert, [other]))))).to.equal("42501");
      const { rows } = await own((tx) => tx.query(`select * from ${table}`));
      expect(rows).to.deep.equal([{ "Tenant (uuid)": tenant }]);
    }
    expect(await count(pool, table)).to.equal(0);
  });

  it("rejects a table that it cannot protect, and gives the reason", async () => {
    await pool.query("create table wide (tenant_id text, size money)");
    await pool.query("create view seen as select * from wide");
    await pool.query("create policy all_of_it on wide using (true)");
    await pool.query(`create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table loose (tenant_id text collate any_case)`);
    for (const [options, fault] of [
      [{ table: "nowhere" }, "nowhere is missing"],
      [{ table: "seen" }, "seen is not a table"],
      [{ table: "wide", column: "tenant" }, "wide.tenant is missing"],
      [{ table: "wide", column: "size" }, "wide.size must be one of text, character varying, uuid"],
      [{ table: "loose" }, "loose.tenant_id has a collation that is not deterministic"],
      [{ table: "wide" }, "the policy all_of_it could show rows of other tenants"],
    ] as const) {
      const error = await failure(enableRowSecurity(pool, options));
      expect(error).to.be.instanceOf(SchemaError).with.property("code", "ERR_SVC_SCHEMA");
      expect(error.message).to.contain(fault);
    }
    await pool.query("drop policy all_of_it on wide; create policy few on wide as restrictive using (true)");
    expect(await enableRowSecurity(pool, { table: "wide" })).to.equal("created");
  });

  it("returns statements for a migration that can run more than once", async () => {
    await pool.query("create table listed (tenant_id uuid)");
    for (let i = 0; i < 2; i++) {
      await withTransaction(pool, async (tx) => {
        for (const statement of rowSecurityStatements({ table: "listed", type: "uuid" }))
          await tx.query(statement);
      });
    }
    expect(await enableRowSecurity(pool, { table: "listed" })).to.equal("present");
  });

  it("rejects invalid names and options", async () => {
    for (const options of [{ table: "a.b.c" }, { table: "a", column: "" }, { table: "a", policy: "p\0" }]) {
      expect(() => rowSecurityStatements(options)).to.throw(IdentifierError);
      expect(await failure(enableRowSecurity(pool, options))).to.be.instanceOf(IdentifierError);
    }
    for (const options of [
      { table: "a", setting: "tenant'" },
      { table: "a", colunm: "x" },
    ]) {
      expect(() => rowSecurityStatements(options as RowSecurityOptions)).to.throw(OptionError);
      expect(await failure(enableRowSecurity(pool, options as RowSecurityOptions))).to.be.instanceOf(
        OptionError,
      );
    }
    expect(() => rowSecurityStatements({ table: "a", type: "money" as "text" })).to.throw(
      OptionError,
      "type must be",
    );
  });
});
