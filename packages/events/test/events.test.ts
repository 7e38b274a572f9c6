import { testDatabase } from "@svc/dev-services";
import {
  createEvents,
  type EventBus,
  type EventEnvelope,
  type EventsEvent,
  type PublishOptions,
  type Subscriber,
} from "@svc/events";
import { createJobTable, createWorker, type JobContext } from "@svc/job-table";
import { DeadlineError } from "@svc/resilience";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { createHash } from "node:crypto";
import { openBench, tableWithSchema } from "./support/bench.ts";
import { obedientBus } from "./support/obedient-bus.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const nothing: Subscriber = () => undefined;

function message(
  envelope: object,
  topic = "order.paid",
): { topic: string; id: string; key: null; body: string } {
  return { topic, id: "m", key: null, body: JSON.stringify(envelope) };
}
const ORDER = {
  id: "e1",
  type: "order.paid",
  source: "shop",
  occurred_at: "2026-03-01T10:00:00Z",
  request_id: "r1",
  tenant_id: "acme",
  trace: { traceparent: TRACEPARENT },
  key: null,
  data: { total: 5 },
};

describe("createEvents()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events" });

  it("EVT-2 EVT-3 EVT-4 EVT-5 EVT-8 queues subscriber jobs and sends a bus message, all with the same envelope", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events({
      outbox: undefined,
      bus,
      topicPrefix: "eu.",
      subscribers: {
        "expense.recorded": { totals: nothing, "mail.owner": nothing },
        other: { totals: nothing },
      },
    });
    const event = {
      type: "expense.recorded",
      id: "e-1",
      tenantId: "acme",
      requestId: "r-1",
      trace: { traceparent: TRACEPARENT },
      key: "x",
      data: { amount: 3 },
    };
    const envelope = await events.publish(event);
    await events.publish(event);
    const jobs = await bench.jobs();
    expect(jobs.map(({ task }) => task)).to.deep.equal([
      "expense.recorded->mail.owner",
      "expense.recorded->totals",
    ]);
    for (const job of jobs) {
      expect(job).to.deep.include({
        id: createHash("sha256").update(`e-1/${job.task}`).digest("hex").slice(0, 32),
        payload: { topic: "eu.expense.recorded", event: envelope },
        max_attempts: 5,
        request_id: "r-1",
        tenant_id: "acme",
        trace: { traceparent: TRACEPARENT },
      });
    }
    expect(bus.taken).to.have.lengthOf(2);
    const [taken] = bus.taken;
    expect(taken).to.deep.include({ topic: "eu.expense.recorded", id: "e-1", key: "x" });
    expect(JSON.parse(taken?.body ?? "")).to.deep.equal(envelope);
    expect(events.topics).to.deep.equal(["eu.expense.recorded", "eu.other"]);
  });

  it("EVT-3 EVT-10 calls the subscribers of the event's type, in a job with the event's tenant and request id", async () => {
    await using bench = await openBench(database.url);
    const calls: unknown[] = [];
    const note =
      (name: string) =>
      ({ data, request_id }: { data: object; request_id: string }, job: JobContext): void =>
        void calls.push([name, data, request_id, job.tenantId, job.requestId]);
    const events = createEvents<{ "expense.recorded": { id: string }; "expense.deleted": { id: string } }>({
      source: "books",
      table: bench.table,
      topicPrefix: "x-",
      subscribers: {
        "expense.recorded": {
          totals: (event) =>
            note("totals")({ ...event, data: { got: event.data.id } }, {
              tenantId: "t",
              requestId: "r",
            } as JobContext),
          mail: note("mail"),
        },
        "expense.deleted": { totals: note("deleted") },
      },
    });
    await using worker = createWorker({
      table: bench.table,
      handlers: events.handlers,
      pollMs: 20,
      concurrency: 1,
    });
    worker.start();
    await events.publishMany([
      { type: "expense.recorded", data: { id: "7" }, tenantId: "acme", requestId: "r9" },
      { type: "expense.deleted", data: { id: "8" }, requestId: "r10" },
    ]);
    await until("three calls", () => calls.length === 3, 20_000);
    expect(calls).to.have.deep.members([
      ["totals", { got: "7" }, "r9", "t", "r"],
      ["mail", { id: "7" }, "r9", "acme", "r9"],
      ["deleted", { id: "8" }, "r10", undefined, "r10"],
    ]);
  });

  it("EVT-3 accepts types, subscribers and data named like members of Object.prototype", async () => {
    await using bench = await openBench(database.url);
    const calls: unknown[] = [];
    const note = ({ type, data }: EventEnvelope): void => void calls.push([type, JSON.stringify(data)]);
    const types = ["constructor", "__proto__", "hasOwnProperty"];
    const subscribers = Object.fromEntries(types.map((type) => [type, Object.fromEntries([[type, note]])]));
    const events = bench.events({ outbox: undefined, subscribers });
    await using worker = createWorker({ table: bench.table, handlers: events.handlers, pollMs: 20 });
    worker.start();
    const text = '{"__proto__":{"admin":true},"constructor":{"prototype":1}}';
    for (const type of types) {
      const body = `{"id":"${type}","type":"${type}","source":"shop","occurred_at":"2026-03-01T10:00:00Z","data":${text}}`;
      await events.receive({ topic: type, id: type, key: null, body });
    }
    const error = await rejection(events.publish({ type: "toString", data: {} }));
    expect(error).to.include({ code: "ERR_SVC_EVENT_UNDELIVERABLE" });
    await until("all were called", () => calls.length === types.length);
    expect(calls).to.have.deep.members(types.map((type) => [type, text]));
    expect({}).to.not.have.property("admin");
  });

  it("EVT-3 fails a job whose payload is not an event, without calling the subscriber", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("not asked")) } });
    const events = createEvents({
      source: "a",
      table,
      subscribers: { a: { b: () => expect.fail("was called") } },
    });
    for (const payload of [null, {}, { topic: "a", event: "a" }]) {
      const handler = events.handlers["a->b"];
      const error = await rejection(Promise.resolve(handler?.(payload, {} as JobContext)));
      expect(error).to.include({ code: "ERR_SVC_EVENT_ENVELOPE" });
    }
  });

  it("EVT-6 rejects an event with neither a subscriber nor a bus, even with an outbox", async () => {
    await using bench = await openBench(database.url);
    for (const outbox of [undefined, bench.outbox]) {
      const events = bench.events({ outbox, subscribers: { known: { one: nothing } } });
      const error = await rejection(events.publish({ type: "unknown", data: {} }));
      expect(error).to.include({ code: "ERR_SVC_EVENT_UNDELIVERABLE" });
      const both = [
        { type: "known", data: {} },
        { type: "unknown", data: {} },
      ];
      expect(await rejection(events.publishMany(both))).to.include({ code: "ERR_SVC_EVENT_UNDELIVERABLE" });
    }
    expect(await bench.jobs()).to.deep.equal([]);
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("EVT-2 writes jobs and outbox rows in the caller's transaction", async () => {
    await using bench = await openBench(database.url);
    const subscribers = { a: { one: nothing } };
    const direct = bench.events({ outbox: undefined, subscribers });
    const written = bench.events({ bus: obedientBus(), subscribers });
    const client = await bench.pool.connect();
    for (const end of ["rollback", "commit"]) {
      await client.query("begin");
      await direct.publish({ type: "a", data: {} }, { tx: client });
      await written.publish({ type: "a", data: {} }, { tx: client });
      await client.query(end);
      const expected = end === "commit" ? 1 : 0;
      expect(await bench.jobs(), end).to.have.lengthOf(expected);
      expect(await bench.rows(), end).to.have.lengthOf(expected);
    }
    client.release();
  });

  it("serializes the data of an event for an outbox once, so that the checked JSON is stored", async () => {
    await using bench = await openBench(database.url);
    const events = bench.events({ subscribers: { a: { one: nothing } } });
    let reads = 0;
    const data = {
      get n() {
        return ++reads;
      },
    };
    await events.publish({ type: "a", data });
    expect((await bench.rows())[0]?.payload["data"]).to.deep.equal({ n: 1 });
    expect(reads).to.equal(1);
  });

  it("writes to an outbox that wraps the one of createOutbox()", async () => {
    await using bench = await openBench(database.url);
    let added = 0;
    const add: typeof bench.outbox.add = (entries, options) => {
      added += entries.length;
      return bench.outbox.add(entries, options);
    };
    const events = bench.events({ outbox: { ...bench.outbox, add }, subscribers: { a: { one: nothing } } });
    await events.publish({ type: "a", data: {} });
    expect(added).to.equal(1);
    expect(await bench.rows()).to.have.lengthOf(1);
  });

  it("EVT-2 rejects a tx option that is not a transaction, and publishes nothing", async () => {
    await using bench = await openBench(database.url);
    const client = await bench.pool.connect();
    const given: readonly unknown[] = [client, { client }, null, "tx"];
    const noTransaction: readonly unknown[] = [null, {}, bench.pool, client];
    const all = [...given, ...noTransaction.map((tx) => ({ tx }))] as PublishOptions[];
    for (const outbox of [undefined, bench.outbox]) {
      const events = bench.events({ outbox, subscribers: { a: { one: nothing } } });
      for (const options of all) {
        const error = await rejection(events.publish({ type: "a", data: {} }, options));
        expect(error).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
        expect(await rejection(bench.outbox.retryDead("all", options))).to.include({ code: error.code });
      }
    }
    client.release();
    expect(await bench.jobs()).to.deep.equal([]);
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("EVT-2 rejects a transaction when there is a bus but no outbox", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events({ outbox: undefined, bus, subscribers: { a: { one: nothing } } });
    const tx = await bench.pool.connect();
    await tx.query("begin");
    const error = await rejection(events.publish({ type: "a", data: {} }, { tx }));
    expect(error).to.include({ code: "ERR_SVC_EVENT_OUTBOX_NEEDED" });
    await tx.query("rollback");
    tx.release();
    expect(bus.calls).to.equal(0);
    expect(await bench.jobs()).to.deep.equal([]);
  });

  it("rejects when the bus fails, and queues the jobs once when the same id is published again", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events({ outbox: undefined, bus, subscribers: { a: { one: nothing } } });
    bus.refuse = () => {
      throw new Error("away");
    };
    const error = await rejection(events.publish({ type: "a", id: "1", data: {} }));
    expect(error).to.include({ code: "ERR_SVC_EVENT_BUS", message: "publishing to memory failed" });
    expect((error.cause as Error).message).to.equal("away");
    bus.refuse = () => undefined;
    await events.publish({ type: "a", id: "1", data: {} });
    expect(await bench.jobs()).to.have.lengthOf(1);
    expect(bus.taken).to.have.lengthOf(1);
  });

  it("rejects at busTimeoutMs when the bus is unresponsive, even if the bus's own timeout is longer", async () => {
    await using bench = await openBench(database.url);
    const signals: (AbortSignal | undefined)[] = [];
    const publish: EventBus["publish"] = (_messages, options) => {
      signals.push(options?.signal);
      return new Promise(() => undefined);
    };
    const events = bench.events({ outbox: undefined, bus: { ...obedientBus(), publish }, busTimeoutMs: 20 });
    const error = await rejection(events.publish({ type: "a", data: {} }));
    expect(error).to.include({ code: "ERR_SVC_EVENT_BUS", message: "publishing to memory failed" });
    expect(error.cause).to.be.instanceOf(DeadlineError);
    expect(signals.map((signal) => signal?.aborted)).to.deep.equal([true]);
  });

  it("EVT-2 EVT-10 queues a received event once for local subscribers, and skips events from its own service and events without subscribers", async () => {
    await using bench = await openBench(database.url);
    const reported: EventsEvent[] = [];
    const events = bench.events({
      subscribers: { "order.paid": { one: nothing, two: nothing } },
      onEvent: (event) => reported.push(event),
    });
    await events.receive(message(ORDER, "shop.order.paid"));
    await events.receive(message(ORDER, "shop.order.paid"));
    await events.receive(message({ ...ORDER, id: "e2", source: "books" }));
    await events.receive(message({ ...ORDER, id: "e3", type: "order.sent" }));
    const jobs = await bench.jobs();
    expect(jobs.map(({ task }) => task)).to.deep.equal(["order.paid->one", "order.paid->two"]);
    expect(jobs[0]).to.deep.include({
      payload: { topic: "shop.order.paid", event: ORDER },
      tenant_id: "acme",
      request_id: "r1",
      trace: { traceparent: TRACEPARENT },
    });
    expect(
      reported.map((event) => (event.type === "received" ? [event.jobs, event.own] : event.type)),
    ).to.deep.equal([
      [2, false],
      [2, false],
      [0, true],
      [0, false],
    ]);
  });

  const hostile: readonly (readonly [string, string])[] = [
    ["no JSON", "<xml/>"],
    ["10 MB", JSON.stringify({ ...ORDER, data: { s: "x".repeat(1e7) } })],
    ["NUL in its data", JSON.stringify({ ...ORDER, data: { s: "a\0b" } })],
    ["half a surrogate pair", JSON.stringify({ ...ORDER, data: { s: "\udc00" } })],
    ["a tenant that is a list", JSON.stringify({ ...ORDER, tenant_id: ["acme"] })],
    [
      "deeply nested data",
      `${JSON.stringify(ORDER).slice(0, -19)}"data":{"a":${"[".repeat(2e5)}${"]".repeat(2e5)}}}`,
    ],
    ["a prototype", `{"__proto__":${JSON.stringify(ORDER)}}`],
    ["nothing but numbers", "12345"],
  ];
  it("logs and drops a bus message that is not an event", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const reported: EventsEvent[] = [];
    const events = bench.events({
      subscribers: { "order.paid": { one: nothing } },
      logger,
      onEvent: (event) => reported.push(event),
    });
    for (const [, body] of hostile) await events.receive({ topic: "t\0", id: "1", key: null, body });
    expect(await bench.jobs()).to.deep.equal([]);
    expect(reported.map(({ type }) => type)).to.deep.equal(hostile.map(() => "refused"));
    expect(logger.lines, "one line in ten seconds").to.have.lengthOf(1);
    await events.receive(message(ORDER));
    expect(await bench.jobs()).to.have.lengthOf(1);
  });

  it("drops a received event that the database can never store, and rejects it after other failures", async () => {
    const types: string[] = [];
    for (const code of ["54001", "22P05", "53300", "42P01", "23514"]) {
      const failing = Object.assign(new Error("no"), { code, severity: "ERROR" });
      const table = createJobTable({ db: { query: () => Promise.reject(failing) } });
      const subscribers = { "order.paid": { one: nothing } };
      const onEvent = ({ type }: EventsEvent): void => void types.push(type);
      const events = createEvents({ source: "a", table, subscribers, onEvent });
      await events.receive(message(ORDER)).catch((error: unknown) => types.push(String(error)));
    }
    expect(types).to.deep.equal(["refused", "refused", "Error: no", "Error: no", "Error: no"]);
  });

  it("drops a received event that does not match the schema of a subscriber's task", async () => {
    await using bench = await openBench(database.url);
    const types: string[] = [];
    const events = bench.events({
      table: tableWithSchema(bench, "order.paid->one"),
      subscribers: { "order.paid": { one: nothing } },
      onEvent: ({ type }) => types.push(type),
    });
    await events.receive(message({ ...ORDER, data: { total: "5" } }));
    await events.receive(message(ORDER));
    expect(types).to.deep.equal(["refused", "received"]);
    expect(await bench.jobs()).to.have.lengthOf(1);
  });

  it("rejects at receiveTimeoutMs while received events cannot be queued, and keeps at most 1,000 calls pending", async () => {
    let asked = 0;
    const hangs = (): Promise<never> => {
      asked += 1;
      return new Promise(() => undefined);
    };
    const table = createJobTable({ db: { query: hangs } });
    const subscribers = { "order.paid": { one: nothing } };
    const events = createEvents({ source: "a", table, receiveTimeoutMs: 50, subscribers });
    for (const many of [1, 999, 5]) {
      const all = Array.from({ length: many }, () => rejection(events.receive(message(ORDER))));
      for (const error of await Promise.all(all)) expect(error).to.include({ code: "ERR_SVC_DEADLINE" });
    }
    expect(asked, "the number of hanging calls is limited").to.equal(1000);
  });

  const wrong: readonly (readonly [string, object, string])[] = [
    ["a missing source", {}, "source: is required"],
    ["an invalid prefix", { source: "a", topicPrefix: "a b" }, "topicPrefix: must be"],
    [
      "subscribers without a table",
      { source: "a", subscribers: { a: { b: nothing } } },
      "table: is required",
    ],
    [
      "a subscriber that is not a function",
      { source: "a", subscribers: { a: { b: 1 } } },
      'b of "a" must be a function',
    ],
    ["an invalid type", { source: "a", subscribers: { "a b": {} } }, "is not an event type"],
    [
      "an invalid subscriber name",
      { source: "a", subscribers: { a: { "->": nothing } } },
      "a subscriber name of",
    ],
    ["a function as subscribers", { source: "a", subscribers: { a: nothing } }, "must be an object"],
    ["a list as subscribers", { source: "a", subscribers: { a: [nothing] } }, '"a" must be an object'],
    [
      "a Map as subscribers",
      { source: "a", subscribers: new Map([["a", { b: nothing }]]) },
      "subscribers: must be an object",
    ],
    ["an unknown option", { source: "a", prefix: "x" }, "prefix: is unknown"],
  ];
  for (const [what, options, text] of wrong) {
    it(`throws for ${what}`, () => {
      expect(() => createEvents(options as { source: string }))
        .to.throw(text)
        .with.property("code", "ERR_SVC_CONFIGURATION");
    });
  }

  it("throws a single error that lists all faults in the subscribers", () => {
    const subscribers = { "a b": {}, c: nothing, d: { "->": nothing, e: 1 } };
    expect(() => createEvents({ source: "a", subscribers } as unknown as { source: string }))
      .to.throw("4 faults")
      .with.property("faults")
      .that.has.lengthOf(4);
  });

  it("rejects more than 1,000 events in one call", async () => {
    const events = createEvents({ source: "a", bus: obedientBus() });
    const many = Array.from({ length: 1001 }, () => ({ type: "a", data: {} }));
    expect(await rejection(events.publishMany(many))).to.include({ code: "ERR_SVC_EVENT_ARGUMENT" });
    expect(await events.publishMany([])).to.deep.equal([]);
    expect(await events.publishMany(many.slice(1))).to.have.lengthOf(1000);
  });
});
