import { testDatabase } from "@svc/dev-services";
import { collectingLogger, until } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, emptied, hasten, openBench, tableWithSchema } from "./support/bench.ts";
import { obedientBus, permanent } from "./support/obedient-bus.ts";

const nothing = (): void => undefined;
const subscribers = { a: { one: nothing } };
/** Returns the time on the clock of the database server, in milliseconds. */
const serverTime = async ({ pool }: Bench): Promise<number> =>
  Number((await pool.query<{ at: Date }>("select clock_timestamp() as at")).rows[0]?.at);
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n).padStart(3, "0"));

describe("a relay during faults", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-relay-faults" });
  let bench: Bench;
  before(async () => {
    bench = await openBench(database.url, 6);
  });
  afterEach(() => emptied(bench));
  after(() => bench[Symbol.asyncDispose]());

  it("OUT-5 delays failed events by min(2^attempts, 300) seconds, and marks them as dead after 20 attempts", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    await events.publish({ type: "a", id: "bad", data: {} });
    bus.refuse = () => {
      throw new Error("no room");
    };
    const logger = collectingLogger();
    const relay = bench.relay(events, { logger });
    for (let attempt = 1; attempt <= 20; attempt++) {
      await hasten(bench);
      const began = await serverTime(bench);
      await relay.drainOnce();
      const ended = await serverTime(bench);
      const [row] = await bench.rows();
      expect(row).to.include({ attempts: attempt, last_error: "Error: no room" });
      if (attempt === 20) {
        expect(row).to.include({ status: "dead" });
        continue;
      }
      // The relay stores the time of its statement plus the delay. The server's clock also times the statements around it.
      const delayedAt = Number(row?.available_at) - Math.min(2 ** attempt, 300) * 1000;
      expect(delayedAt).to.be.within(began, ended);
    }
    expect(await relay.drainOnce()).to.include({ claimed: 0 });
    expect(relay.reported.map(({ type }) => type)).to.deep.equal([
      ...Array.from({ length: 19 }, () => "failed"),
      "dead",
    ]);
    expect(logger.at("error")).to.deep.equal(["an event is dead: it is not sent any more"]);
    expect((await bench.outbox.dead())[0]).to.include({
      id: "bad",
      attempts: 20,
      lastError: "Error: no room",
    });
    bus.refuse = nothing;
    await bench.outbox.retryDead("all");
    expect(await relay.drainOnce()).to.include({ relayed: 1 });
  });

  it("OUT-5 EVT-11 marks an undeliverable row as dead at its first attempt, and relays the others", async () => {
    const bus = obedientBus();
    bus.refuse = (messages) => {
      if (messages.some(({ id }) => id === "large")) throw permanent("too large for the broker");
    };
    const events = bench.events({ bus, subscribers, maxEventBytes: 2000 });
    await events.publish({ type: "a", id: "large", data: {}, key: "k" });
    await events.publish({ type: "a", id: "next", data: {}, key: "k" });
    await bench.pool.query(`insert into ${bench.outbox.name} (id, kind, destination, payload) values
      ('job', 'job', 'a', '{}'), ('rounded', 'event', 'a', '{"id":"i","type":"a","source":"a",
        "occurred_at":"2026-01-01T00:00:00Z","data":{"order":{"id":9007199254740993}}}'), ('empty', 'event', 'a', '{}'), ('list', 'event', 'a', '[1]'),
      ('long', 'event', 'a', jsonb_build_object('s', repeat('x', 10000000))),
      ('longer', 'event', 'a', jsonb_build_object('id', 'i', 'type', 'a', 'source', 'a', 'occurred_at', '2026-01-01T00:00:00Z',
        'data', jsonb_build_object('s', repeat('x', 2000))))`);
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.deep.equal({ claimed: 8, relayed: 1, failed: 0, dead: 7 });
    const rows = await bench.rows();
    expect(
      Object.fromEntries(
        rows.map(({ id, status, attempts, last_error }) => [id, [status, attempts, last_error]]),
      ),
    ).to.deep.equal({
      large: ["dead", 1, "Error: too large for the broker"],
      next: ["published", 1, null],
      job: ["dead", 1, "EventError: a relay sends only rows of kind event; this row has another kind"],
      rounded: [
        "dead",
        1,
        "EventError: not a valid event: data.order.id is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string",
      ],
      empty: ["dead", 1, "EventError: not a valid event: id must be a string of 1 to 255 characters"],
      list: ["dead", 1, "EventError: not a valid event: it is not an object"],
      long: ["dead", 1, "EventError: not a valid event: it is larger than maxEventBytes"],
      longer: ["dead", 1, "EventError: not a valid event: it has more than 2000 bytes"],
    });
  });

  it("EVT-6 marks an event as dead when its subscriber was removed and there is no bus", async () => {
    await bench.events({ subscribers }).publish({ type: "a", id: "1", data: {} });
    const relay = bench.relay(bench.events({ subscribers: { b: { one: nothing } } }));
    expect(await relay.drainOnce()).to.include({ dead: 1 });
    expect((await bench.outbox.dead())[0]?.lastError).to.equal(
      'EventError: cannot deliver "a": it has no subscriber, and there is no bus',
    );
  });

  it("only delays events while the bus is unavailable: readiness reports the outage, no event is dead, and all are sent in order", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    const all = ids(1, 30);
    for (const id of all) await events.publish({ type: "a", id, data: {}, key: "k" });
    bus.healthy = false;
    bus.refuse = () => {
      throw new Error("connect ECONNREFUSED");
    };
    const relay = bench.relay(events, { maxAttempts: 3 });
    for (let round = 0; round < 6; round++) {
      await hasten(bench);
      await relay.drainOnce();
    }
    const rows = await bench.rows();
    expect(rows.every(({ status }) => status === "pending")).to.equal(true);
    expect(rows[0]).to.include({ attempts: 2, last_error: "Error: connect ECONNREFUSED" });
    expect(
      rows.slice(1).every(({ attempts }) => attempts === 0),
      "one of them finds out",
    ).to.equal(true);
    expect(await relay.readiness().check(AbortSignal.timeout(5000))).to.deep.include({
      healthy: false,
      detail: "1 event(s) failing (Error: connect ECONNREFUSED)",
    });
    expect(relay.readiness()).to.include({ name: "outbox", critical: false });
    expect(await bench.jobs()).to.deep.equal([]);
    bus.healthy = true;
    bus.refuse = nothing;
    await hasten(bench);
    expect(await relay.drainOnce()).to.include({ relayed: 30 });
    expect(bus.taken.map(({ id }) => id)).to.deep.equal(all);
    expect(await bench.jobs()).to.have.lengthOf(30);
  });

  it("aborts a call to a hanging bus at busTimeoutMs, and delays the events", async () => {
    const bus = obedientBus();
    const signals: (AbortSignal | undefined)[] = [];
    bus.publish = (_messages, options) => {
      signals.push(options?.signal);
      return new Promise(() => undefined);
    };
    const events = bench.events({ bus, subscribers });
    await events.publishMany([1, 2, 3].map(() => ({ type: "a", data: {} })));
    const relay = bench.relay(events, { busTimeoutMs: 20 });
    expect(await relay.drainOnce()).to.include({ claimed: 3, relayed: 0, failed: 3 });
    expect(signals.every((signal) => signal?.aborted === true)).to.equal(true);
    expect((await bench.rows()).map(({ last_error }) => last_error)).to.deep.equal(
      Array.from({ length: 3 }, () => "DeadlineError: no result within 20 ms"),
    );
  });

  it("OUT-5 takes over a dead relay's events after their lease, and marks them as dead after the last attempt", async () => {
    const events = bench.events({ subscribers });
    await events.publish({ type: "a", id: "1", data: {} });
    await events.publish({ type: "a", id: "2", data: {} });
    // This statement creates the state that a relay leaves when it dies after a claim.
    await bench.pool.query(
      `update ${bench.outbox.name} set attempts = case id when '2' then 20 else 1 end, available_at = now() + interval '60 seconds'`,
    );
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.include({ claimed: 0 });
    await hasten(bench);
    expect(await relay.drainOnce()).to.deep.equal({ claimed: 1, relayed: 1, failed: 0, dead: 1 });
    expect((await bench.rows()).map(({ status, attempts }) => [status, attempts])).to.deep.equal([
      ["published", 2],
      ["dead", 20],
    ]);
  });

  it("OUT-5 neither marks events as published nor queues their jobs after its lease has expired", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    await events.publish({ type: "a", id: "1", data: {} });
    const other = bench.relay(events);
    const gate = Promise.withResolvers<void>();
    const slow = bench.events({
      subscribers,
      bus: Object.assign(obedientBus(), { publish: () => gate.promise }),
    });
    const late = bench.relay(slow);
    const lateDone = late.drainOnce();
    await until("it is claimed", async () => (await bench.rows())[0]?.attempts === 1);
    await hasten(bench);
    expect(await other.drainOnce()).to.include({ relayed: 1 });
    await bench.pool.query(`delete from ${bench.table.name}`);
    gate.resolve();
    expect(await lateDone).to.include({ relayed: 0 });
    expect(late.reported).to.deep.equal([{ type: "lost", ids: ["1"] }]);
    expect(await bench.jobs()).to.deep.equal([]);
    expect((await bench.rows())[0]).to.include({ status: "published", attempts: 2 });
  });

  it("OUT-5 does not mark an event as published after its lease has expired, even if another relay holds it with the same attempt count", async () => {
    const bus = obedientBus();
    const gate = Promise.withResolvers<void>();
    bus.publish = () => gate.promise;
    const events = bench.events({ bus, subscribers });
    await events.publish({ type: "a", id: "1", data: {} });
    const late = bench.relay(events);
    const done = late.drainOnce();
    await until("it is claimed", async () => (await bench.rows())[0]?.attempts === 1);
    // This statement creates the state after another relay has released the row and claimed it again.
    await bench.pool.query(`update ${bench.outbox.name} set available_at = now() + interval '50 seconds'`);
    gate.resolve();
    expect(await done).to.include({ relayed: 0 });
    expect(late.reported).to.deep.equal([{ type: "lost", ids: ["1"] }]);
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 1 });
    expect(await bench.jobs()).to.deep.equal([]);
  });

  it("OUT-5 sends a retried dead event first, and keeps a delayed event ahead of later events with the same key", async () => {
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    for (const id of ids(1, 4)) await events.publish({ type: "a", id, data: {}, key: "k" });
    // Many attempts cause a long delay, so that the event does not become due during the test.
    await bench.pool.query(`update ${bench.outbox.name} set attempts = 8 where id = '002'`);
    bus.refuse = (messages) => {
      if (messages.some(({ id }) => id === "001")) throw permanent("not this one");
      if (messages.some(({ id }) => id === "002")) throw new Error("not now");
    };
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.include({ dead: 1, failed: 1, relayed: 0 });
    bus.refuse = nothing;
    await bench.outbox.retryDead(["001"]);
    expect(await relay.drainOnce()).to.include({ relayed: 1 });
    await hasten(bench);
    await relay.drainOnce();
    expect(bus.taken.map(({ id }) => id)).to.deep.equal(ids(1, 4));
  });

  it("marks an event as dead when it is too large for a job, and relays the others", async () => {
    const events = bench.events({ subscribers, maxEventBytes: 3_000_000 });
    await events.publish({ type: "a", id: "1", data: {} });
    await events.publish({ type: "a", id: "2", data: { s: "x".repeat(1_100_000) } });
    await events.publish({ type: "a", id: "3", data: {} });
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.deep.equal({ claimed: 3, relayed: 2, failed: 0, dead: 1 });
    expect((await bench.outbox.dead())[0]?.lastError).to.include("maxPayloadBytes");
    expect(await bench.jobs()).to.have.lengthOf(2);
  });

  it("marks an event as dead when it does not match the schema of a subscriber's task, and relays the others", async () => {
    const events = bench.events({ subscribers, table: tableWithSchema(bench, "a->one") });
    await events.publish({ type: "a", id: "1", data: { total: 1 } });
    await events.publish({ type: "a", id: "2", data: { total: "1" } });
    await events.publish({ type: "a", id: "3", data: { total: 3 } });
    const relay = bench.relay(events);
    expect(await relay.drainOnce()).to.deep.equal({ claimed: 3, relayed: 2, failed: 0, dead: 1 });
    expect((await bench.outbox.dead())[0]?.lastError).to.include(
      "does not match the schema of the task a->one",
    );
    expect(await bench.jobs()).to.have.lengthOf(2);
  });

  it("marks no event as dead while the job table is missing", async () => {
    const events = bench.events({ subscribers });
    await events.publish({ type: "a", data: {} });
    await bench.pool.query(`alter table ${bench.table.name} rename to elsewhere_${bench.table.name}`);
    await using relay = bench.relay(events, { maxAttempts: 2 });
    relay.start();
    for (let round = 1; round <= 3; round++) {
      // Call hasten() only after a failure, because it would also end the lease of a running pass.
      if (round > 1) await hasten(bench);
      await until(
        "it has failed",
        () => relay.reported.filter(({ type }) => type === "fault").length >= round,
      );
    }
    const [row] = await bench.rows();
    expect(row).to.include({ status: "pending", attempts: 1 });
    expect(row?.last_error).to.include("does not exist");
    await bench.pool.query(`alter table elsewhere_${bench.table.name} rename to ${bench.table.name}`);
    await hasten(bench);
    await until("it is relayed", () => relay.reported.some(({ type }) => type === "relayed"));
  });

  it("reports a fault when the database hangs for commandTimeoutMs, and continues when it responds", async () => {
    const events = bench.events({ subscribers });
    const holder = await bench.pool.connect();
    await holder.query(`begin; lock table ${bench.outbox.name} in access exclusive mode`);
    const logger = collectingLogger();
    await using relay = bench.relay(events, { commandTimeoutMs: 400, logger });
    relay.start();
    await until("two passes have failed", () => relay.reported.length >= 2);
    expect(relay.reported.every(({ type }) => type === "fault")).to.equal(true);
    expect(logger.at("warn"), "one line in ten seconds").to.have.lengthOf(1);
    await holder.query("rollback");
    holder.release();
    await events.publish({ type: "a", data: {} });
    await until("it continues", () => relay.reported.some(({ type }) => type === "relayed"));
  });

  it("continues when the listener or the logger throws", async () => {
    const thrown = (): never => {
      throw new Error("of a listener");
    };
    const logger = { debug: thrown, info: thrown, warn: thrown, error: thrown, fatal: thrown };
    const events = bench.events({ subscribers: { b: { one: nothing } }, onEvent: thrown, logger });
    await bench.events({ subscribers }).publish({ type: "a", data: {} });
    await events.publish({ type: "b", data: {} });
    const relay = bench.relay(events, { onEvent: thrown, logger });
    expect(await relay.drainOnce()).to.include({ relayed: 1, dead: 1 });
  });
});
