import { testDatabase } from "@svc/dev-services";
import { createRelay, type Relay } from "@svc/events";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, emptied, hasten, openBench } from "./support/bench.ts";
import { obedientBus } from "./support/obedient-bus.ts";

const nothing = (): void => undefined;
const subscribers = { a: { one: nothing } };
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n).padStart(3, "0"));

describe("a relay", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-relay" });
  let bench: Bench;
  before(async () => {
    bench = await openBench(database.url, 6);
  });
  afterEach(() => emptied(bench));
  after(() => bench[Symbol.asyncDispose]());

  it("OUT-1 OUT-5 EVT-2 EVT-8 sends events to the bus, then marks them as published and queues their jobs", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers, topicPrefix: "eu." });
    const envelope = await events.publish({
      type: "a",
      data: { z: 1, a: [1.5, "ä"] },
      key: "k",
      tenantId: "acme",
    });
    await events.publish({ type: "unheard", data: {} });
    expect(bus.calls, "nothing is sent before").to.equal(0);
    expect(await bench.jobs()).to.deep.equal([]);
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.deep.equal({ claimed: 2, relayed: 2, failed: 0, dead: 0 });
    expect(bus.taken[0]).to.deep.include({ topic: "eu.a", id: envelope.id, key: "k" });
    expect(JSON.parse(bus.taken[0]?.body ?? "")).to.deep.equal(envelope);
    const [job, ...others] = await bench.jobs();
    expect(others).to.deep.equal([]);
    expect(job).to.deep.include({
      task: "a->one",
      tenant_id: "acme",
      payload: { topic: "eu.a", event: envelope },
    });
    for (const row of await bench.rows()) {
      expect(row).to.include({ status: "published", attempts: 1, last_error: null });
      expect(row.published_at).to.be.instanceOf(Date);
    }
    expect(await relay.drainOnce()).to.include({ claimed: 0 });
  });

  it("warns about another service's events in its outbox", async () => {
    const logger = collectingLogger();
    const events = bench.events({ subscribers });
    await events.publish({ type: "a", data: {} });
    await bench.events({ subscribers, source: "letters" }).publish({ type: "a", data: {} });
    expect(await bench.relay(events, { logger }).drainOnce()).to.include({ relayed: 2 });
    expect(logger.lines).to.have.lengthOf(1);
    expect(logger.lines[0]?.fields).to.include({ source: "letters", of: "books", table: bench.outbox.name });
    expect(logger.at("warn")[0]).to.contain("needs its own outbox");
  });

  it("OUT-5 keeps no transaction open during a call to the bus", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    await events.publish({ type: "a", data: {} });
    let open: unknown;
    const publish = bus.publish.bind(bus);
    const asking = Object.assign(bus, {
      publish: async (...given: Parameters<typeof publish>) => {
        const { rows } = await bench.pool.query(
          // Exclude the server's own transactions, such as autovacuum.
          "select count(*)::int as open from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'",
        );
        open = rows[0];
        await publish(...given);
      },
    });
    await bench.relay(events).drainOnce();
    expect(asking.taken).to.have.lengthOf(1);
    expect(open).to.deep.equal({ open: 0 });
  });

  it("relays events from this process immediately, even those written in a transaction", async () => {
    const events = bench.events({ subscribers });
    await using relay = bench.relay(events, { everyMs: 600_000 });
    relay.start();
    await events.publish({ type: "a", data: {} });
    await until("the first", () => relay.reported.length === 1);
    const client = await bench.pool.connect();
    await client.query("begin");
    await events.publish({ type: "a", data: {} }, { tx: client });
    await client.query("commit");
    client.release();
    await until("the second", () => relay.reported.length === 2);
  });

  it("OUT-5 keeps the order per key when one event fails: later events with the key wait, others do not", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    for (const id of ids(1, 6))
      await events.publish({ type: "a", id, data: {}, key: Number(id) % 2 === 0 ? "even" : "odd" });
    await events.publish({ type: "a", id: "free", data: {} });
    // Many attempts cause a long delay, so that the event does not become due during the test.
    await bench.pool.query(`update ${bench.outbox.name} set attempts = 8 where id = '003'`);
    bus.refuse = (messages) => {
      if (messages.some(({ id }) => id === "003")) throw new Error("not now");
    };
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.include({ relayed: 5, failed: 1 });
    expect(bus.taken.map(({ id }) => id)).to.have.members(["001", "002", "004", "006", "free"]);
    const waiting = (await bench.rows()).filter(({ status }) => status === "pending");
    expect(waiting.map(({ id, attempts }) => [id, attempts])).to.deep.equal([
      ["003", 9],
      ["005", 0],
    ]);
    expect(await relay.drainOnce(), "a due event behind a delayed one is not claimed").to.include({
      claimed: 0,
    });
    bus.refuse = nothing;
    await hasten(bench);
    expect(await relay.drainOnce()).to.include({ relayed: 2 });
    expect(bus.taken.slice(-2).map(({ id }) => id)).to.deep.equal(["003", "005"]);
  });

  it("deletes only events that were published more than seven days ago", async () => {
    const events = bench.events({ subscribers });
    await events.publishMany(ids(1, 4).map((id) => ({ type: "a", id, data: {} })));
    await bench.pool.query(`update ${bench.outbox.name} set
      status = case id when '003' then 'dead' else 'published' end,
      published_at = now() - case id when '002' then interval '6 days' else interval '8 days' end where id <> '004'`);
    await using relay = bench.relay(events);
    relay.start();
    await until("it has purged", () => relay.reported.find(({ type }) => type === "purged"));
    expect((await bench.rows()).map(({ id }) => id)).to.deep.equal(["002", "003", "004"]);
  });

  it("OUT-5 needs few claims for a key with 2,000 events and for 1,200 keys with one event each", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    const outbox = bench.outbox.name;
    await bench.pool.query(`insert into ${outbox} (id, destination, payload, message_key, created_at)
      select 'hot-' || to_char(n, 'FM0000'), 'a', '{"id":"h","type":"a","source":"s","occurred_at":"2026-01-01T00:00:00Z","data":{}}', 'hot',
        now() + n * interval '1 microsecond' from generate_series(1, 2000) n`);
    await bench.pool.query(`insert into ${outbox} (id, destination, payload, message_key)
      select 'key-' || n, 'a', '{"id":"k","type":"a","source":"s","occurred_at":"2026-01-01T00:00:00Z","data":{}}', 'key-' || n
      from generate_series(1, 1200) n`);
    const relay = bench.relay(events, { batch: 500 });
    expect(await relay.drainOnce()).to.include({ relayed: 3200 });
    expect(bus.calls).to.be.at.most(14);
    const { rows } = await bench.pool.query<{ plan: string }>(
      `select count(*)::int as plan from ${outbox} where status = 'pending'`,
    );
    expect(rows[0]).to.deep.equal({ plan: 0 });
  });

  it("finishes the claimed events when stopped, and starts only once", async () => {
    const bus = obedientBus();
    const gate = Promise.withResolvers<void>();
    bus.publish = async (messages) => {
      await gate.promise;
      bus.taken.push(...messages);
    };
    const events = bench.events({ bus, subscribers });
    await events.publish({ type: "a", data: {} });
    const relay = bench.relay(events);
    relay.start();
    relay.start();
    await until("it is claimed", async () => (await bench.rows())[0]?.attempts === 1);
    const stopped = relay.stop();
    gate.resolve();
    await stopped;
    expect((await bench.rows())[0]).to.include({ status: "published" });
    expect(() => relay.start()).to.throw("a stopped relay cannot start again: create a new one");
    expect((await rejection(relay.drainOnce())).message).to.equal(
      "a stopped relay cannot relay events: create a new one",
    );
  });

  it("OUT-1 relays every publishable event, including events with numbers that PostgreSQL writes with 309 digits", async () => {
    const events = bench.events({ subscribers });
    for (const n of [Number.MAX_VALUE, 1e308, 1e-19, Number.MIN_VALUE]) {
      await events.publish({ type: "a", data: { a: Array<number>(2800).fill(n) } });
    }
    expect(await bench.relay(events).drainOnce()).to.deep.equal({
      claimed: 4,
      relayed: 4,
      failed: 0,
      dead: 0,
    });
    const tooMany = events.publish({ type: "a", data: { a: Array<number>(3400).fill(1e308) } });
    expect((await rejection(tooMany)).message).to.match(
      /^the event has 10\d{5} bytes as JSON with its numbers written without exponents; at most 1000000 are allowed/,
    );
  });

  const wrong: readonly (readonly [string, (bench: Bench) => Relay, string])[] = [
    [
      "another implementation's outbox",
      (b) => createRelay({ outbox: { ...b.outbox }, events: b.events() }),
      "outbox: must be the object returned by createOutbox()",
    ],
    [
      "another implementation's events",
      (b) => createRelay({ outbox: b.outbox, events: { source: "a" } }),
      "events: must be the object returned by createEvents()",
    ],
    [
      "events that write to another outbox",
      (b) => createRelay({ outbox: b.outbox, events: b.events({ outbox: undefined }) }),
      "events: must write to this outbox",
    ],
    ["a batch of 0", (b) => b.relay(b.events(), { batch: 0 }), "batch: must be"],
  ];
  for (const [what, make, message] of wrong) {
    it(`throws for ${what}`, () => {
      expect(() => make(bench))
        .to.throw(message)
        .with.property("code", "ERR_SVC_CONFIGURATION");
    });
  }
});
