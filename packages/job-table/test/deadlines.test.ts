import { testPostgresServer } from "@svc/dev-services";
import { createJobTable, createWorker, type InTransaction, type JobTable, type Lease } from "@svc/job-table";
import { problemHandler } from "@svc/problem";
import { endingOf, expressMajors, listen, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";
import { openClient, openPool } from "./support/bench.ts";

const CODE = "ERR_SVC_SQL_DEADLINE";
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };
const LEASE: Lease = { id: "none", attempts: 1, lockedUntil: "2026-01-01T00:00:00.000Z" };

type Call = (table: JobTable, options?: InTransaction) => Promise<unknown>;

/** Every call that sends a statement, by name. */
const CALLS: Readonly<Record<string, Call>> = {
  enqueue: (table, options) => table.enqueue({ id: "one", task: "a" }, options),
  enqueueMany: (table, options) => table.enqueueMany([{ id: "one", task: "a" }], options),
  claim: (table, options) => table.claim(1, options),
  ack: (table, options) => table.ack(LEASE, options),
  fail: (table, options) => table.fail(LEASE, new Error("no"), options),
  release: (table, options) => table.release(LEASE, options),
  retryDead: (table, options) => table.retryDead("all", options),
  dead: (table) => table.dead(),
  stats: (table) => table.stats(),
  ensureSchema: (table) => table.ensureSchema(),
};
const IN_TRANSACTION = ["enqueue", "enqueueMany", "claim", "ack", "fail", "release", "retryDead"];
const WITHOUT_STATEMENTS = ["migrations", "readiness"];

describe("a job table with deadlines on a plain pool", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  let pool: Pool;
  let table: JobTable;
  beforeEach(async () => {
    pool = openPool(postgres.url, 1);
    table = createJobTable({ db: pool, ...TIMEOUTS });
    await createJobTable({ db: pool }).ensureSchema();
    await pool.query("truncate svc_jobs");
  });
  afterEach(() => pool.end());

  const ready = (): Promise<unknown> =>
    Promise.resolve(table.readiness().check(new AbortController().signal));
  const backInPool = (): Promise<boolean> =>
    until("the connection is back", () => pool.waitingCount === 0 && pool.idleCount === 1);

  it("has a test for every function that sends a statement", () => {
    const functions = Object.entries(table).flatMap(([name, value]) =>
      typeof value === "function" ? [name] : [],
    );
    expect(functions.toSorted()).to.deep.equal([...Object.keys(CALLS), ...WITHOUT_STATEMENTS].toSorted());
  });

  for (const [name, call] of Object.entries(CALLS)) {
    it(`rejects ${name}() while the database is frozen, closes the connection, and works again afterwards`, async () => {
      let connections: number | undefined;
      const { code, error } = await whileFrozen(postgres.server, async () => {
        const ending = call(table);
        await endingOf(ending);
        connections = pool.totalCount;
        return ending;
      });
      expect([code, connections]).to.deep.equal([CODE, 0]);
      expect((error as Error).message).to.match(new RegExp(`^${name}\\(\\) of .*svc_jobs .* within 0\\.3 s`));
      await call(createJobTable({ db: pool }));
    });

    it(`rejects ${name}() while all pool connections are in use`, async () => {
      const { code, error } = await whileExhausted(pool, () => call(table));
      expect(code).to.equal(CODE);
      expect((error as Error).message).to.match(/got no connection from the pool within 0\.3 s/);
      await backInPool();
      expect((await pool.query("select from svc_jobs")).rowCount, "jobs").to.equal(0);
      await call(table);
    });
  }

  for (const name of IN_TRANSACTION) {
    it(`rejects ${name}() while the caller's connection is frozen, and leaves that connection open for the rollback`, async () => {
      await using client = await openClient(postgres.url);
      await client.query("begin");
      const { code, error } = await whileFrozen(postgres.server, () => CALLS[name]!(table, { tx: client }));
      expect(code).to.equal(CODE);
      expect((error as Error).message).to.match(/roll back, or close the connection if it does not respond$/);
      await client.query("rollback");
      expect((await pool.query("select from svc_jobs")).rowCount, "jobs").to.equal(0);
    });
  }

  it("queues a job once although the first call with its id exceeded its deadline", async () => {
    const { code } = await whileFrozen(postgres.server, () => table.enqueue({ id: "one", task: "a" }));
    expect(code).to.equal(CODE);
    // The server may execute the timed-out statement before or after this one.
    await createJobTable({ db: pool }).enqueue({ id: "one", task: "a" });
    await until(
      "no statement is under way",
      async () => (await pool.query("select from pg_stat_activity where state = 'active'")).rowCount === 1,
    );
    expect((await pool.query("select id from svc_jobs")).rows).to.deep.equal([{ id: "one" }]);
  });

  it("reports readiness as unhealthy while the database is frozen or the pool is exhausted, and as healthy afterwards", async () => {
    const unhealthy = { healthy: false, detail: "no answer within 300 ms" };
    expect((await whileFrozen(postgres.server, ready)).value).to.deep.equal(unhealthy);
    expect((await whileExhausted(pool, ready)).value).to.deep.equal(unhealthy);
    await backInPool();
    expect(await createJobTable({ db: pool }).readiness().check(new AbortController().signal)).to.include({
      healthy: true,
    });
  });

  it("rejects enqueue() at the deadline when the insert ran on an idle worker's connection", async () => {
    const large = openPool(postgres.url, 4);
    const busy = createJobTable({ db: large, ...TIMEOUTS });
    const worker = createWorker({ table: busy, handlers: { a: () => undefined }, commandTimeoutMs: 5000 });
    worker.start();
    // After a job, the idle worker keeps its own connection.
    await busy.enqueue({ task: "a" });
    await until("the job is done", async () => (await large.query("select from svc_jobs")).rowCount === 0);
    const { code } = await whileFrozen(postgres.server, () => busy.enqueue({ task: "a" }));
    expect(code).to.equal(CODE);
    await until("the job ran or was never queued", async () => {
      const { rowCount } = await pool.query("select from svc_jobs");
      return rowCount === 0 && worker.running === 0;
    });
    await worker.stop();
    await large.end();
  });

  it("reports that the job may be queued when the worker's connection hangs and the pool has no other", async () => {
    const small = openPool(postgres.url, 2);
    const busy = createJobTable({ db: small, ...TIMEOUTS });
    const worker = createWorker({ table: busy, handlers: { a: () => undefined }, commandTimeoutMs: 5000 });
    worker.start();
    await busy.enqueue({ task: "a" });
    await until("the job is done", async () => (await small.query("select from svc_jobs")).rowCount === 0);
    const other = await small.connect();
    // The worker may still be looking for another job; a call does not wait for its connection.
    const active = "select from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid()";
    await until("no statement runs", async () => (await other.query(active)).rowCount === 0);
    const { code, error } = await whileFrozen(postgres.server, () => busy.enqueue({ task: "a" }));
    other.release();
    await worker.stop();
    await small.end();
    expect(code).to.equal(CODE);
    expect(error).to.include({ sent: true, timeoutMs: 300 });
    expect((error as Error).message).to.match(/^enqueue\(\) of svc_jobs got no response .* within 0\.3 s;/);
  });

  it("resolves stop() of a worker while the database is frozen", async () => {
    const large = openPool(postgres.url, 4);
    const busy = createJobTable({ db: large, ...TIMEOUTS });
    const worker = createWorker({
      table: busy,
      handlers: { a: () => undefined },
      commandTimeoutMs: 300,
      depthEverySeconds: 0.05,
    });
    worker.start();
    await until("it has a connection", () => large.totalCount > 0);
    const { code } = await whileFrozen(postgres.server, () => worker.stop());
    expect(code).to.equal("none");
    await large.end();
  });

  for (const [major, express] of Object.entries(expressMajors)) {
    it(`returns 503 with Retry-After when a handler in ${major} does not catch a deadline error`, async () => {
      const app = express();
      app.post("/", (_req, res, next) => {
        table.enqueue({ task: "a" }).then(() => res.end(), next);
      });
      app.use(problemHandler());
      await using listening = await listen(app);
      const { value } = await whileExhausted(pool, () => fetch(listening.url, { method: "POST" }));
      const answer = value as Response;
      expect([answer.status, answer.headers.get("retry-after")]).to.deep.equal([503, "1"]);
      expect(await answer.text()).to.not.include("svc_jobs");
    });
  }
});
