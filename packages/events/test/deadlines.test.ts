import { testPostgresServer } from "@svc/dev-services";
import {
  createEvents,
  createInbox,
  createOutbox,
  createRelay,
  type EventEnvelope,
  type Events,
  type Inbox,
  type Outbox,
} from "@svc/events";
import { createJobTable } from "@svc/job-table";
import type { Queryable } from "@svc/sql";
import { endingOf, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import { Client, Pool } from "pg";

const CODE = "ERR_SVC_SQL_DEADLINE";
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };
const EVENT = { id: "one", type: "expense.recorded", data: {} };

/** Events, outbox and inbox on one pool. */
interface Bench {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  /** `written` uses the outbox; `direct` queues jobs immediately. */
  readonly written: Events;
  readonly direct: Events;
}

type Call = (bench: Bench, tx?: Queryable) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  "outbox.add": ({ outbox }, tx) => outbox.add([{ topic: "a", event: envelope }], { tx }),
  "outbox.retryDead": ({ outbox }, tx) => outbox.retryDead("all", { tx }),
  "outbox.dead": ({ outbox }) => outbox.dead(),
  "outbox.stats": ({ outbox }) => outbox.stats(),
  "outbox.ensureSchema": ({ outbox }) => outbox.ensureSchema(),
  "inbox.ensureSchema": ({ inbox, pool }) => inbox.ensureSchema(pool),
  "inbox.prune": ({ inbox, pool }) => inbox.prune(pool),
  "written.publish": ({ written }, tx) => written.publish(EVENT, { tx }),
  "written.publishMany": ({ written }, tx) => written.publishMany([EVENT], { tx }),
  "direct.publish": ({ direct }, tx) => direct.publish(EVENT, { tx }),
  "direct.publishMany": ({ direct }, tx) => direct.publishMany([EVENT], { tx }),
  "direct.receive": ({ direct }) =>
    direct.receive({
      topic: "a",
      id: "two",
      key: null,
      body: JSON.stringify({ ...envelope, source: "other" }),
    }),
};
const ONLY_IN_TRANSACTIONS: Readonly<Record<string, Call>> = {
  "inbox.once": ({ inbox }, tx) => inbox.once(tx as Queryable, "reader", "one", () => undefined),
};
const IN_TRANSACTION = [
  "outbox.add",
  "outbox.retryDead",
  "written.publish",
  "written.publishMany",
  "direct.publish",
  "direct.publishMany",
];
const WITHOUT_STATEMENTS = ["outbox.migrations", "outbox.readiness", "inbox.migrations"];

let envelope: EventEnvelope;

describe("@svc/events with deadlines on a plain pool", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  let bench: Bench;

  const open = (pool: Pool, timeouts: object): Bench => {
    const subscribers = { "expense.recorded": { count: () => undefined } };
    const table = createJobTable({ db: pool, ...timeouts });
    const outbox = createOutbox({ db: pool, ...timeouts });
    return {
      pool,
      outbox,
      inbox: createInbox(timeouts),
      written: createEvents({ source: "books", table, outbox, subscribers }),
      direct: createEvents({ source: "books", table, subscribers }),
    };
  };

  before(async () => {
    const pool = new Pool({ connectionString: postgres.url });
    const { outbox, inbox, direct } = open(pool, {});
    await createJobTable({ db: pool }).ensureSchema();
    await outbox.ensureSchema();
    await inbox.ensureSchema(pool);
    envelope = await direct.publish({ ...EVENT, id: "other" });
    await pool.end();
  });
  beforeEach(async () => {
    const pool = new Pool({ connectionString: postgres.url, max: 1 });
    pool.on("error", () => undefined);
    await pool.query("truncate svc_jobs, svc_outbox, svc_inbox");
    bench = open(pool, TIMEOUTS);
  });
  afterEach(() => bench.pool.end());

  const rows = async (): Promise<number | null> =>
    (await bench.pool.query("select id from svc_jobs union all select id from svc_outbox")).rowCount;

  it("is tested with every call on outbox, inbox and events", () => {
    const callsOf = (name: string, object: object): string[] =>
      Object.entries(object).flatMap(([key, value]) =>
        typeof value === "function" ? [`${name}.${key}`] : [],
      );
    const { outbox, inbox, written, direct } = bench;
    const all = [
      ...callsOf("outbox", outbox),
      ...callsOf("inbox", inbox),
      ...callsOf("direct", direct),
      ...callsOf("written", written).filter((each) => each !== "written.receive"),
    ];
    const cases = [...Object.keys({ ...CALLS, ...ONLY_IN_TRANSACTIONS }), ...WITHOUT_STATEMENTS];
    expect(all.toSorted()).to.deep.equal(cases.toSorted());
  });

  for (const [name, call] of Object.entries(CALLS)) {
    it(`${name} rejects while the database is frozen, closes its connection and works again afterwards`, async () => {
      let connections: number | undefined;
      const { code } = await whileFrozen(postgres.server, async () => {
        const ending = call(bench);
        await endingOf(ending);
        connections = bench.pool.totalCount;
        return ending;
      });
      expect([code, connections]).to.deep.equal([CODE, 0]);
      await call(open(bench.pool, {}));
    });

    it(`${name} rejects while all pool connections are in use`, async () => {
      expect((await whileExhausted(bench.pool, () => call(bench))).code).to.equal(CODE);
      await until(
        "the connection is back",
        () => bench.pool.waitingCount === 0 && bench.pool.idleCount === 1,
      );
      expect(await rows(), "jobs and events").to.equal(0);
      await call(bench);
    });
  }

  for (const name of [...IN_TRANSACTION, ...Object.keys(ONLY_IN_TRANSACTIONS)]) {
    it(`${name} rejects in the caller's transaction while the database is frozen, and leaves its connection open for a rollback`, async () => {
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      await client.query("begin");
      const call = { ...CALLS, ...ONLY_IN_TRANSACTIONS }[name]!;
      expect((await whileFrozen(postgres.server, () => call(bench, client))).code).to.equal(CODE);
      await client.query("rollback");
      await client.end();
      expect(await rows(), "jobs and events").to.equal(0);
    });
  }

  it("publishes an event once although the first call with its id exceeded its deadline", async () => {
    expect((await whileFrozen(postgres.server, () => bench.written.publish(EVENT))).code).to.equal(CODE);
    const patient = open(bench.pool, {});
    await patient.written.publish(EVENT);
    await until(
      "no statement is under way",
      async () =>
        (await bench.pool.query("select from pg_stat_activity where state = 'active'")).rowCount === 1,
    );
    expect((await bench.pool.query("select id from svc_outbox")).rows).to.deep.equal([{ id: "one" }]);
  });

  it("reports the outbox as unhealthy while the database is frozen and while the pool is exhausted", async () => {
    const unhealthy = { healthy: false, detail: "no answer within 300 ms" };
    const check = (): Promise<unknown> =>
      Promise.resolve(bench.outbox.readiness().check(new AbortController().signal));
    expect((await whileFrozen(postgres.server, check)).value).to.deep.equal(unhealthy);
    expect((await whileExhausted(bench.pool, check)).value).to.deep.equal(unhealthy);
  });

  it("stops a relay while the database is frozen", async () => {
    const { outbox, written } = bench;
    const faults: unknown[] = [];
    const relay = createRelay({
      outbox,
      events: written,
      commandTimeoutMs: 300,
      everyMs: 5,
      onEvent: (event) => faults.push(event),
    });
    const { code } = await whileFrozen(postgres.server, async () => {
      relay.start();
      await until("a fault was reported", () => faults.length > 0);
      await relay.stop();
    });
    expect(code).to.equal("none");
  });
});
