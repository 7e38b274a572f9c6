import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { openClient, openPool } from "./support/bench.ts";

const BY_HAND = `create table %s (
  trace jsonb, created_at timestamptz not null default now(), last_error text, status varchar(10) not null default 'pending',
  tenant_id varchar(64), request_id varchar(128), locked_until timestamptz, available_at timestamptz not null default now(),
  max_attempts integer not null default 3, attempts integer not null default 0, payload jsonb not null default '{}',
  task varchar(255) not null, id varchar(64) primary key, note text default 'of the team'
)`;

async function indexes(pool: Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query<{ indexdef: string }>(
    "select indexdef from pg_indexes where schemaname || '.' || tablename = $1 order by indexname",
    [table.includes(".") ? table : `public.${table}`],
  );
  return rows.map(({ indexdef }) => indexdef.replace(/.* USING btree /, ""));
}

describe("the table", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-schema" });

  it("JOB-1 JOB-2 JOB-24 JOB-30 has the contract's thirteen columns and two partial indexes", async () => {
    const pool = openPool(database.url);
    const table = createJobTable({ db: pool });
    expect(table.name).to.equal("svc_jobs");
    expect(await table.ensureSchema()).to.equal("created");
    expect(await table.ensureSchema()).to.equal("present");
    const { rows } = await pool.query<Record<string, string | null>>(
      `select column_name, data_type, is_nullable, column_default from information_schema.columns
       where table_name = 'svc_jobs' order by ordinal_position`,
    );
    const columns = rows.map((row) => Object.values(row).join("|"));
    expect(columns).to.deep.equal([
      "id|text|NO|",
      "task|text|NO|",
      "payload|jsonb|NO|'{}'::jsonb",
      "attempts|integer|NO|0",
      "max_attempts|integer|NO|3",
      "available_at|timestamp with time zone|NO|now()",
      "locked_until|timestamp with time zone|YES|",
      "request_id|text|YES|",
      "tenant_id|text|YES|",
      "status|text|NO|'pending'::text",
      "last_error|text|YES|",
      "created_at|timestamp with time zone|NO|now()",
      "trace|jsonb|YES|",
    ]);
    expect(await indexes(pool, "svc_jobs")).to.deep.equal([
      "(available_at) WHERE (status = 'pending'::text)",
      "(id) WITH (fillfactor='50')",
      "(locked_until) WHERE (status = 'running'::text)",
    ]);
    await pool.end();
  });

  it("JOB-30 is created by the migrations in a custom schema", async () => {
    const pool = openPool(database.url);
    await pool.query("create schema later");
    const table = createJobTable({ db: pool, name: "later.Jobs" });
    const [migration] = table.migrations();
    expect(migration?.name).to.equal("0001_later_Jobs_5f6454de");
    for (let round = 0; round < 2; round++)
      for (const sql of migration?.statements ?? []) await pool.query(sql);
    expect(await table.ensureSchema()).to.equal("present");
    await table.enqueue({ task: "a" });
    expect(await table.claim(5)).to.have.lengthOf(1);
    await pool.end();
  });

  it("JOB-30 is created once by 16 concurrent ensureSchema() calls", async () => {
    const pools = Array.from({ length: 16 }, () => openPool(database.url, 1));
    const made = await Promise.all(
      pools.map((db) => createJobTable({ db, name: "together" }).ensureSchema()),
    );
    expect(made.filter((result) => result === "created")).to.have.lengthOf(1);
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it("JOB-28 is accepted when created manually, and gets only its missing indexes", async () => {
    const pool = openPool(database.url);
    await pool.query(BY_HAND.replace("%s", "by_hand"));
    const table = createJobTable({ db: pool, name: "by_hand" });
    expect(await table.ensureSchema()).to.equal("created");
    expect(await table.ensureSchema()).to.equal("present");
    expect(await indexes(pool, "by_hand")).to.have.lengthOf(3);
    await pool.query("insert into by_hand (id, task) values ('from elsewhere', 'a')");
    const [job] = await table.claim();
    expect(job).to.deep.include({ id: "from elsewhere", payload: {}, maxAttempts: 3, trace: undefined });
    expect(job === undefined ? "none" : await table.fail(job, "no")).to.equal("pending");
    await pool.end();
  });

  it("JOB-28 is accepted with indexes of any name", async () => {
    const pool = openPool(database.url);
    for (const [name, sql] of [
      ["named", BY_HAND],
      ["named_text", BY_HAND.replace("varchar(10)", "text")],
    ] as const) {
      await pool.query(sql.replace("%s", name));
      await pool.query(`create index ${name}_x on ${name} (available_at) where status = 'pending'`);
      await pool.query(`create index ${name}_y on ${name} (locked_until, id) where (status) = ('running')`);
      expect(await createJobTable({ db: pool, name }).ensureSchema()).to.equal("present");
    }
    await pool.end();
  });

  it("JOB-29 is checked without any lock above ACCESS SHARE when nothing is missing", async () => {
    const pool = openPool(database.url);
    await createJobTable({ db: pool, name: "busy" }).ensureSchema();
    await using holder = await openClient(database.url);
    await holder.query("begin; lock table busy in exclusive mode");
    expect(await createJobTable({ db: pool, name: "busy" }).ensureSchema()).to.equal("present");
    await pool.end();
  });

  const faults: readonly (readonly [string, string, string, string])[] = [
    ["a missing column", "no_trace", "trace jsonb,", "no_trace.trace is missing; it must be jsonb or json"],
    [
      "a column with the wrong type",
      "no_zone",
      "available_at timestamptz",
      "no_zone.available_at must be timestamptz",
    ],
    ["an id that is not unique", "no_key", " primary key", "needs a primary key or unique index on id alone"],
    [
      "a column that rejects null",
      "no_null",
      "last_error text",
      "last_error, trace of no_null must be nullable",
    ],
  ];
  for (const [what, name, part, message] of faults) {
    it(`is rejected with ${what}, which the error names, and stays unchanged`, async () => {
      const pool = openPool(database.url);
      const replacement =
        { no_zone: "available_at timestamp", no_null: "last_error text not null" }[name] ?? "";
      await pool.query(BY_HAND.replace("%s", name).replace(part, replacement));
      const before = await indexes(pool, name);
      const error = await rejection(createJobTable({ db: pool, name }).ensureSchema());
      expect(error).to.include({ code: "ERR_SVC_SCHEMA" });
      expect(error.message).to.include(message);
      expect(await indexes(pool, name)).to.deep.equal(before);
      await pool.end();
    });
  }

  it("is rejected when a renamed table still has the indexes' names, or a view has the table's name", async () => {
    const pool = openPool(database.url);
    const table = createJobTable({ db: pool, name: "moved" });
    await table.ensureSchema();
    await pool.query("alter table moved rename to kept");
    expect(await rejection(table.ensureSchema()))
      .to.have.property("faults")
      .that.deep.equals([
        "moved needs an index on (available_at) where status = 'pending'",
        "moved needs an index on (locked_until) where status = 'running'",
      ]);
    await pool.query("create view moved as select * from kept");
    expect(await rejection(table.ensureSchema()))
      .to.have.property("faults")
      .that.deep.equals(["moved must be a table; it is a view"]);
    await pool.end();
  });

  for (const [what, sql] of [
    [
      "partitions",
      " partition by hash (id); create table parts_1 partition of parts for values with (modulus 1, remainder 0)",
    ],
    ["tables that inherit from it", "; create table heir () inherits (heirs)"],
  ] as const) {
    it(`is rejected with ${what}, because two rows may have the same ctid`, async () => {
      const pool = openPool(database.url);
      const name = what === "partitions" ? "parts" : "heirs";
      await pool.query(BY_HAND.replace("%s", name) + sql);
      const error = await rejection(createJobTable({ db: pool, name }).ensureSchema());
      expect(error).to.include({ code: "ERR_SVC_SCHEMA" });
      expect(error.message).to.include(
        `${name} must be an ordinary table, without partitions or child tables`,
      );
      await pool.end();
    });
  }
});
