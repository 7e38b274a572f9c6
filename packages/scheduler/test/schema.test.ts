import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { createScheduler, DEFAULT_TICKS_TABLE, type Scheduler } from "@svc/scheduler";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { openPool } from "./support/bench.ts";

const BY_HAND = `create table %s (
  claimed_at timestamptz default now(), claimed_by varchar(255), fire_at timestamptz, name varchar(255), note text,
  primary key (name, fire_at)
)`;

describe("the table of ticks", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler-schema" });
  let pool: Pool;
  const on = (ticksTable: string | undefined): Scheduler =>
    createScheduler({
      table: createJobTable({ db: pool }),
      ticksTable,
      schedules: { it: { everySeconds: 1, task: "a" } },
    });
  before(async () => {
    pool = openPool(database.url);
    await createJobTable({ db: pool }).ensureSchema();
  });
  after(() => pool.end());

  it("SCH-4 is svc_schedule_ticks with four columns and the primary key (name, fire_at)", async () => {
    expect(DEFAULT_TICKS_TABLE).to.equal("svc_schedule_ticks");
    expect(await on(undefined).ensureSchema()).to.equal("created");
    expect(await on(undefined).ensureSchema()).to.equal("present");
    const { rows } = await pool.query<Record<string, string | null>>(
      `select column_name, data_type, is_nullable, column_default from information_schema.columns
       where table_name = 'svc_schedule_ticks' order by ordinal_position`,
    );
    expect(rows.map((row) => Object.values(row).join("|"))).to.deep.equal([
      "name|text|NO|",
      "fire_at|timestamp with time zone|NO|",
      "claimed_by|text|YES|",
      "claimed_at|timestamp with time zone|NO|now()",
    ]);
    const keys = await pool.query<{ key: string }>(
      "select pg_get_constraintdef(oid) as key from pg_constraint where conrelid = 'svc_schedule_ticks'::regclass and contype = 'p'",
    );
    expect(keys.rows).to.deep.equal([{ key: "PRIMARY KEY (name, fire_at)" }]);
  });

  it("is created by the migrations, in another schema, and once by eight concurrent starts", async () => {
    await pool.query("create schema later");
    const scheduler = on("later.Ticks");
    const [migration] = scheduler.migrations();
    expect(migration?.name).to.equal("0001_later_Ticks_6bf93f74");
    for (let round = 0; round < 2; round++)
      for (const sql of migration?.statements ?? []) await pool.query(sql);
    expect(await scheduler.ensureSchema()).to.equal("present");
    const made = await Promise.all(Array.from({ length: 8 }, () => on("together").ensureSchema()));
    expect(made.filter((each) => each === "created")).to.have.lengthOf(1);
  });

  it("is accepted when created by hand, and its due ticks fire", async () => {
    await pool.query(BY_HAND.replace("%s", "by_hand"));
    const scheduler = on("by_hand");
    expect(await scheduler.ensureSchema()).to.equal("present");
    await scheduler.runDue();
    await pool.query("update by_hand set fire_at = fire_at - interval '5 seconds'");
    expect((await scheduler.runDue()).fired).to.have.lengthOf(1);
  });

  const faults: readonly (readonly [string, string, string, string])[] = [
    ["missing", "claimed_by varchar(255), ", "", "missing.claimed_by is missing; it must be text or varchar"],
    ["no_zone", "fire_at timestamptz", "fire_at timestamp", "no_zone.fire_at must be timestamptz"],
    [
      "no_key",
      "primary key (name, fire_at)",
      "unique (fire_at, name)",
      "needs a primary key or unique index on (name, fire_at)",
    ],
    [
      "no_null",
      "claimed_by varchar(255)",
      "claimed_by varchar(255) not null",
      "no_null needs a primary key or unique index on (name, fire_at), in this order, and a nullable claimed_by",
    ],
  ];
  for (const [name, part, replacement, message] of faults) {
    it(`is rejected if it differs, with the error: ${message}`, async () => {
      await pool.query(BY_HAND.replace("%s", name).replace(part, replacement));
      const error = await rejection(on(name).ensureSchema());
      expect(error).to.include({ code: "ERR_SVC_SCHEMA" });
      expect(error.message).to.include(message);
    });
  }
});
