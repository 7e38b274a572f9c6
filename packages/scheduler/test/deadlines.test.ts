import { testPostgresServer } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { createScheduler, type Scheduler } from "@svc/scheduler";
import { endingOf, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { MINUTE_MS, NOON, openPool } from "./support/bench.ts";

const CODE = "ERR_SVC_SQL_DEADLINE";
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };

const CALLS: Readonly<Record<string, (scheduler: Scheduler) => Promise<unknown>>> = {
  runDue: (scheduler) => scheduler.runDue(),
  ensureSchema: (scheduler) => scheduler.ensureSchema(),
};
const WITHOUT_STATEMENTS = ["migrations", "nextTicks", "readiness", "start", "stop"];

describe("a scheduler with deadlines on a plain pool", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  let pool: Pool;
  let nowMs: number;

  const open = (timeouts: object = TIMEOUTS): Scheduler =>
    createScheduler({
      table: createJobTable({ db: pool }),
      schedules: { beat: { everySeconds: 60, task: "a" } },
      now: () => nowMs,
      ...timeouts,
    });

  beforeEach(async () => {
    pool = openPool(postgres.url, 1);
    nowMs = NOON;
    await createJobTable({ db: pool }).ensureSchema();
    await open({}).ensureSchema();
    await pool.query("truncate svc_jobs, svc_schedule_ticks");
    await open({}).runDue();
  });
  afterEach(() => pool.end());

  it("has a test for every call that sends a statement", () => {
    const functions = Object.entries(open()).flatMap(([name, value]) =>
      typeof value === "function" ? [name] : [],
    );
    expect(functions.toSorted()).to.deep.equal([...Object.keys(CALLS), ...WITHOUT_STATEMENTS].toSorted());
  });

  for (const [name, call] of Object.entries(CALLS)) {
    it(`rejects ${name}() while the database is frozen, closes the connection, and works again afterwards`, async () => {
      let connections: number | undefined;
      const { code } = await whileFrozen(postgres.server, async () => {
        const ending = call(open());
        await endingOf(ending);
        connections = pool.totalCount;
        return ending;
      });
      expect([code, connections]).to.deep.equal([CODE, 0]);
      await call(open({}));
    });

    it(`rejects ${name}() while all connections of the pool are in use`, async () => {
      expect((await whileExhausted(pool, () => call(open()))).code).to.equal(CODE);
      await until("the connection is back", () => pool.waitingCount === 0 && pool.idleCount === 1);
      await call(open({}));
    });
  }

  it("queues the job of a tick only once if the first statement exceeded its deadline", async () => {
    nowMs += MINUTE_MS;
    expect((await whileFrozen(postgres.server, () => open().runDue())).code).to.equal(CODE);
    await open({}).runDue();
    await until("the tick", async () => (await pool.query("select from svc_jobs")).rowCount === 1);
  });

  it("resolves stop() while the database is frozen", async () => {
    const scheduler = open();
    const { code } = await whileFrozen(postgres.server, () => {
      scheduler.start();
      return scheduler.stop();
    });
    expect(code).to.equal("none");
  });
});
