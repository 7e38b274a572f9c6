import { testDatabase } from "@svc/dev-services";
import { createOutbox, type EventEnvelope } from "@svc/events";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { openBench, openPool } from "./support/bench.ts";

const BY_HAND = `create table %s (
  last_error text, published_at timestamptz, created_at timestamptz not null, available_at timestamptz not null,
  attempts integer not null, status varchar(16) not null, trace json, tenant_id varchar(255), request_id varchar(128),
  message_key varchar(255), payload jsonb not null, destination varchar(255) not null, kind varchar(16) not null,
  id varchar(128) primary key, note text default 'of the team'
)`;
const EVENT: EventEnvelope = {
  id: "e1",
  type: "a",
  source: "books",
  occurred_at: "2026-01-01T00:00:00Z",
  request_id: "r1",
  tenant_id: "acme",
  trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
  key: "k",
  data: { b: [1, "ä"] },
};

async function indexes(pool: Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query<{ indexdef: string }>(
    "select indexdef from pg_indexes where tablename = $1 order by indexname",
    [table],
  );
  return rows.map(({ indexdef }) => indexdef.replace(/.* USING btree /, ""));
}

describe("an outbox", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-outbox" });
  let pool: Pool;
  before(() => {
    pool = openPool(database.url);
  });
  after(() => pool.end());

  it("OUT-4 has fourteen columns, and indexes of pending, published and dead rows", async () => {
    const outbox = createOutbox({ db: pool });
    expect(outbox.name).to.equal("svc_outbox");
    expect(await outbox.ensureSchema()).to.equal("created");
    expect(await outbox.ensureSchema()).to.equal("present");
    const { rows } = await pool.query<Record<string, string | null>>(
      `select column_name, data_type, is_nullable, column_default from information_schema.columns
       where table_name = 'svc_outbox' order by ordinal_position`,
    );
    expect(rows.map((row) => Object.values(row).join("|"))).to.deep.equal([
      "id|text|NO|",
      "kind|text|NO|'event'::text",
      "destination|text|NO|",
      "payload|jsonb|NO|",
      "message_key|text|YES|",
      "request_id|text|YES|",
      "tenant_id|text|YES|",
      "trace|jsonb|YES|",
      "status|text|NO|'pending'::text",
      "attempts|integer|NO|0",
      "available_at|timestamp with time zone|NO|now()",
      "created_at|timestamp with time zone|NO|now()",
      "published_at|timestamp with time zone|YES|",
      "last_error|text|YES|",
    ]);
    expect(await indexes(pool, "svc_outbox")).to.deep.equal([
      "(created_at) WHERE (status = 'dead'::text)",
      "(message_key, created_at, id) WHERE (status = 'pending'::text)",
      "(id)",
      "(published_at) WHERE (status = 'published'::text)",
    ]);
  });

  it("OUT-4 is created by the migrations, and only once by 16 concurrent starts", async () => {
    const migrated = createOutbox({ db: pool, name: "migrated" });
    for (let round = 0; round < 2; round++) {
      for (const { statements } of migrated.migrations()) for (const sql of statements) await pool.query(sql);
    }
    expect(await migrated.ensureSchema()).to.equal("present");
    const made = await Promise.all(
      Array.from({ length: 16 }, () => createOutbox({ db: pool, name: "together" }).ensureSchema()),
    );
    expect(made.filter((result) => result === "created")).to.have.lengthOf(1);
  });

  it("OUT-4 OUT-5 accepts a manually created table, adds the missing indexes, and can be relayed", async () => {
    await using bench = await openBench(database.url);
    await pool.query(BY_HAND.replace("%s", "by_hand"));
    const outbox = createOutbox({ db: bench.pool, name: "by_hand" });
    expect(await outbox.ensureSchema()).to.equal("created");
    expect(await outbox.ensureSchema()).to.equal("present");
    expect(await indexes(pool, "by_hand")).to.have.lengthOf(4);
    const events = bench.events({ outbox, subscribers: { a: { one: () => undefined } } });
    await events.publishMany([
      { type: "a", data: {}, key: "k" },
      { type: "a", data: {} },
    ]);
    const relay = bench.relay(events, { outbox });
    expect(await relay.drainOnce()).to.include({ relayed: 2 });
    expect(await outbox.stats()).to.deep.equal({ pending: 0, published: 2, dead: 0 });
  });

  const faults: readonly (readonly [string, string, string, string, string])[] = [
    ["a missing column", "no_key", "message_key varchar(255),", "", "no_key.message_key is missing"],
    [
      "a column with the wrong type",
      "no_zone",
      "available_at timestamptz",
      "available_at timestamp",
      "no_zone.available_at must be timestamptz",
    ],
    [
      "an id that is not unique",
      "no_pk",
      " primary key",
      "",
      "needs a primary key or unique index on id alone",
    ],
    [
      "a column that rejects null",
      "no_null",
      "last_error text",
      "last_error text not null",
      "last_error of no_null must be nullable",
    ],
    [
      "an extra column without a default",
      "extra",
      "default 'of the team'",
      "not null",
      "extra.note is an unexpected column",
    ],
  ];
  for (const [what, name, part, replacement, message] of faults) {
    it(`OUT-4 rejects a table with ${what}, names the fault, and changes nothing`, async () => {
      await pool.query(BY_HAND.replace("%s", name).replace(part, replacement));
      const before = await indexes(pool, name);
      const error = await rejection(createOutbox({ db: pool, name }).ensureSchema());
      expect(error).to.include({ code: "ERR_SVC_SCHEMA" });
      expect(error.message).to.include(message);
      expect(await indexes(pool, name)).to.deep.equal(before);
    });
  }

  it("OUT-1 EVT-4 stores the envelope as published, and each id once", async () => {
    await using bench = await openBench(database.url);
    const { outbox } = bench;
    const entry = { topic: "eu.a", event: EVENT };
    expect(
      await outbox.add([entry, { topic: "eu.a", event: { ...EVENT, id: "e2", key: null, trace: {} } }]),
    ).to.equal(2);
    expect(await outbox.add([entry])).to.equal(0);
    expect(await outbox.add([])).to.equal(0);
    const [first, second] = await bench.rows();
    expect(first).to.deep.include({
      id: "e1",
      kind: "event",
      destination: "eu.a",
      payload: EVENT,
      message_key: "k",
      request_id: "r1",
      tenant_id: "acme",
      trace: EVENT.trace,
      status: "pending",
      attempts: 0,
      published_at: null,
      last_error: null,
    });
    expect(second).to.deep.include({ id: "e2", message_key: null, trace: {} });
    const many = Array.from({ length: 1001 }, () => entry);
    expect(await rejection(outbox.add(many))).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
  });

  it("rejects entries that PostgreSQL or JSON cannot represent, before anything is sent", async () => {
    let asked = 0;
    const query = (): Promise<never> => {
      asked += 1;
      return Promise.reject(new Error("was asked"));
    };
    const outbox = createOutbox({ db: { query } });
    const wrong: readonly object[] = [
      { s: "a\0b" },
      { s: "\ud800" },
      { n: 1n },
      new Date(0),
      { toJSON: () => 1 },
    ];
    for (const data of wrong) {
      const entries = [
        { topic: "a", event: EVENT },
        { topic: "a", event: { ...EVENT, data } },
      ];
      const error = await rejection(outbox.add(entries));
      expect(error).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
      expect(error.message).to.match(/^entry 1: data /);
    }
    expect(asked).to.equal(0);
  });

  it("stores an envelope in a string, and the defaults of its optional members", async () => {
    await using bench = await openBench(database.url);
    const { id, type, source, occurred_at, data } = EVENT;
    const text: unknown = JSON.stringify({ id, type, source, occurred_at, data });
    expect(await bench.outbox.add([{ topic: "a", event: text as EventEnvelope }])).to.equal(1);
    const [row] = await bench.rows();
    expect(row).to.deep.include({ id: "e1", message_key: null, tenant_id: "" });
    expect(row?.payload).to.deep.include({ id: "e1", key: null, data });
  });

  it("lists dead events, newest first, and makes them pending again", async () => {
    await using bench = await openBench(database.url);
    const { outbox } = bench;
    await outbox.add(["1", "2", "3"].map((id) => ({ topic: "a", event: { ...EVENT, id } })));
    await bench.pool.query(
      `update ${outbox.name} set status = 'dead', attempts = 20, last_error = 'no' where id <> '3'`,
    );
    const dead = await outbox.dead();
    expect(dead.map(({ id }) => id)).to.deep.equal(["2", "1"]);
    expect(dead[0]).to.deep.include({
      topic: "a",
      attempts: 20,
      lastError: "no",
      payload: { ...EVENT, id: "2" },
    });
    expect(await outbox.dead(1)).to.have.lengthOf(1);
    expect(await outbox.retryDead(["1", "3", "9"])).to.deep.equal(["1"]);
    expect(await outbox.retryDead("all")).to.deep.equal(["2"]);
    expect(await outbox.readiness().check(AbortSignal.timeout(5000))).to.include({ healthy: true });
    expect(await outbox.stats()).to.deep.equal({ pending: 3, published: 0, dead: 0 });
    for (const [wrong, text] of [
      [null, "the topic of entry 1 must be a string"],
      [{ topic: "", event: EVENT }, "the topic of entry 1 must be a string"],
      [{ topic: "a" }, "entry 1: not a valid event: it is not an object"],
      [{ topic: "a", event: { ...EVENT, id: 7 } }, "entry 1: not a valid event: id must be a string"],
    ] as const) {
      const error = await rejection(
        outbox.add([{ topic: "a", event: { ...EVENT, id: "4" } }, wrong as never]),
      );
      expect(error).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
      expect(error.message).to.include(text);
    }
    expect(await outbox.stats(), "nothing was sent").to.include({ pending: 3 });
    for (const wrong of [0, 1.5, 10_001]) {
      expect(await rejection(outbox.dead(wrong))).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
    }
    expect(await rejection(outbox.retryDead(["\0"]))).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
  });

  it("is unhealthy but not critical with dead, failing or old events, and shows the error without secrets", async () => {
    await using bench = await openBench(database.url);
    const outbox = createOutbox({ db: bench.pool, name: bench.outbox.name, now: () => 0 });
    const check = outbox.readiness();
    const asked = async (): Promise<object> => check.check(AbortSignal.timeout(5000));
    const set = (sql: string): Promise<unknown> => bench.pool.query(`update ${outbox.name} set ${sql}`);
    expect(check).to.include({ name: "outbox", critical: false });
    expect(await asked()).to.deep.include({ healthy: true, detail: "0 event(s) waiting" });
    await outbox.add([{ topic: "a", event: EVENT }]);
    expect(await asked()).to.deep.include({ healthy: true, detail: "1 event(s) waiting" });
    await set("attempts = 1, last_error = 'Error: no route to redis://me:secret@cache'");
    expect(await asked()).to.deep.include({
      healthy: false,
      detail: "1 event(s) failing (Error: no route to redis://***@cache)",
    });
    await set("last_error = null, created_at = now() - interval '301 seconds'");
    const age = async (): Promise<number> => {
      const text = `select date_part('epoch', statement_timestamp() - created_at) as age from ${outbox.name}`;
      return Math.round((await bench.pool.query<{ age: number }>(text)).rows[0]?.age ?? 0);
    };
    const least = await age();
    const old = (await asked()) as { readonly healthy: boolean; readonly detail: string };
    expect(old.healthy).to.equal(false);
    const [, seconds] = /^the oldest event has waited for (\d+) s$/.exec(old.detail) ?? [];
    expect(Number(seconds), old.detail).to.be.within(least, await age());
    await set("status = 'dead'");
    expect(await asked()).to.deep.include({ healthy: false, detail: "1 event(s) dead" });
    const missing = createOutbox({ db: bench.pool, name: "nowhere" }).readiness();
    expect(await missing.check(AbortSignal.timeout(5000))).to.deep.equal({
      healthy: false,
      detail: "its table is missing",
    });
  });

  const wrong: readonly (readonly [string, object])[] = [
    ["db", {}],
    ["name", { db: { query: () => undefined }, name: "a.b.c" }],
    ["name", { db: { query: () => undefined }, name: "x".repeat(49) }],
  ];
  for (const [key, options] of wrong) {
    it(`throws for an invalid ${key}: ${JSON.stringify(options).slice(0, 40)}`, () => {
      expect(() => createOutbox(options as { db: Pool })).to.throw(`${key}: `);
    });
  }
});
