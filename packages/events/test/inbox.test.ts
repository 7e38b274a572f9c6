import { testDatabase } from "@svc/dev-services";
import { createInbox } from "@svc/events";
import { withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { openPool } from "./support/bench.ts";

describe("an inbox", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-inbox" });
  const inbox = createInbox();
  let pool: Pool;
  before(async () => {
    pool = openPool(database.url);
    await inbox.ensureSchema(pool);
    await pool.query("create table effects (id text)");
  });
  after(() => pool.end());
  const effects = async (id: string): Promise<number> =>
    (await pool.query("select from effects where id = $1", [id])).rows.length;
  const handle = (id: string, consumer = "totals"): Promise<unknown> =>
    withTransaction(pool, (tx) =>
      inbox.once(tx, consumer, id, async () => {
        await tx.query("insert into effects values ($1)", [id]);
        return "worked";
      }),
    );

  it("OUT-3 stores consumer, message_id and processed_at in one row per consumer and message", async () => {
    expect(inbox.name).to.equal("svc_inbox");
    expect(await inbox.ensureSchema(pool)).to.equal("present");
    const { rows } = await pool.query<Record<string, string | null>>(
      `select column_name, data_type, is_nullable, column_default from information_schema.columns
       where table_name = 'svc_inbox' order by ordinal_position`,
    );
    expect(rows.map((row) => Object.values(row).join("|"))).to.deep.equal([
      "consumer|text|NO|",
      "message_id|text|NO|",
      "processed_at|timestamp with time zone|NO|now()",
    ]);
    const key = await pool.query<{ def: string }>(
      "select pg_get_constraintdef(oid) as def from pg_constraint where conrelid = 'svc_inbox'::regclass and contype = 'p'",
    );
    expect(key.rows[0]?.def).to.equal("PRIMARY KEY (consumer, message_id)");
  });

  it("OUT-2 runs the work once per consumer, however often the message arrives", async () => {
    expect(await handle("m1")).to.deep.equal({ done: true, value: "worked" });
    expect(await handle("m1")).to.deep.equal({ done: false });
    expect(await handle("m1", "mail")).to.deep.equal({ done: true, value: "worked" });
    expect(await effects("m1")).to.equal(2);
  });

  it("OUT-2 runs the work once for many concurrent calls", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => handle("m2")));
    expect(answers.filter((answer) => (answer as { done: boolean }).done)).to.have.lengthOf(1);
    expect(await effects("m2")).to.equal(1);
  });

  it("OUT-2 records nothing when the work or its transaction fails", async () => {
    const failing = withTransaction(pool, (tx) =>
      inbox.once(tx, "totals", "m3", () => Promise.reject(new Error("no"))),
    );
    expect((await rejection(failing)).message).to.equal("no");
    const undone = withTransaction(pool, async (tx) => {
      await inbox.once(tx, "totals", "m3", () => tx.query("insert into effects values ('m3')"));
      throw new Error("later");
    });
    expect((await rejection(undone)).message).to.equal("later");
    const broken = withTransaction(pool, (tx) =>
      inbox.once(tx, "totals", "m3", () => tx.query("select nothing")),
    );
    expect(await rejection(broken)).to.include({ code: "42703" });
    expect(await handle("m3")).to.deep.include({ done: true });
    expect(await effects("m3")).to.equal(1);
  });

  it("OUT-2 records nothing when the work fails and the caller catches the error", async () => {
    await withTransaction(pool, (tx) =>
      inbox.once(tx, "totals", "m4", () => Promise.reject(new Error("no"))).catch(() => undefined),
    );
    expect(await handle("m4")).to.deep.include({ done: true });
  });

  it("OUT-2 rejects a value that is not a transaction, and malformed ids", async () => {
    const client = await pool.connect();
    for (const db of [pool, client]) {
      const error = await rejection(inbox.once(db, "a", "b", () => undefined));
      expect(error).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
      expect(error.message).to.include("needs a transaction");
    }
    client.release();
    for (const [consumer, id] of [
      ["", "b"],
      ["a", ""],
      ["a", "b\0"],
      ["a".repeat(129), "b"],
    ] as const) {
      const error = await rejection(
        withTransaction(pool, (tx) => inbox.once(tx, consumer, id, () => undefined)),
      );
      expect(error).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
    }
  });

  it("OUT-3 prunes records older than the given number of days, and rejects a number below 1", async () => {
    await pool.query(
      "insert into svc_inbox select 'old', n::text, now() - interval '40 days' from generate_series(1, 10001) n",
    );
    await pool.query("insert into svc_inbox values ('old', 'young', now() - interval '20 days')");
    expect(await inbox.prune(pool)).to.equal(10_001);
    expect(await inbox.prune(pool, { olderThanDays: 10 })).to.equal(1);
    expect(await rejection(inbox.prune(pool, { olderThanDays: 0 }))).to.include({
      code: "ERR_SVC_CONFIGURATION",
    });
    expect(await handle("m1"), "a recent record stays").to.deep.equal({ done: false });
  });

  it("OUT-3 accepts a manually created table, and rejects a table with other columns", async () => {
    await pool.query(`create table by_hand (message_id varchar(128), consumer varchar(128),
      processed_at timestamptz default now(), primary key (message_id, consumer))`);
    const byHand = createInbox({ name: "by_hand" });
    expect(await byHand.ensureSchema(pool)).to.equal("present");
    expect(await withTransaction(pool, (tx) => byHand.once(tx, "a", "b", () => 1))).to.deep.include({
      done: true,
    });
    await pool.query("create table other (consumer text, message_id bigint, processed_at timestamptz)");
    const error = await rejection(createInbox({ name: "other" }).ensureSchema(pool));
    expect(error).to.include({ code: "ERR_SVC_SCHEMA" });
    expect(error.message).to.include("other.message_id must be text or varchar; it is bigint");
    await pool.query("create table keyless (consumer text, message_id text, processed_at timestamptz)");
    const unkeyed = await rejection(createInbox({ name: "keyless" }).ensureSchema(pool));
    expect(unkeyed.message).to.include("keyless needs the primary key (consumer, message_id)");
    expect(createInbox({ name: "a.b" }).migrations()[0]?.name).to.equal("0001_a_b_2e7336dc");
  });
});
