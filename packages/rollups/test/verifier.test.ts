import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import { ConfigurationError } from "@svc/options";
import {
  createVerifier,
  defineRollup,
  type RollupOptions,
  type Verifier,
  type VerifierOptions,
} from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { collectingLogger, rejection } from "@svc/test-support";
import { expect } from "chai";
import { EXPENSES, type Expenses, openExpenses } from "./support/expenses.ts";

const ROUND = "2026-04-15T00:00:00.000Z";
const LATER = "2026-04-16T00:00:00.000Z";
const inMonth = (month: string): string => `2026-${month}-10T12:00:00Z`;

interface Verified extends Expenses {
  readonly jobs: JobTable;
  readonly verifier: Verifier;
  readonly logger: ReturnType<typeof collectingLogger>;
  /** Handles jobs until none is left. Returns the tasks. */
  work(): Promise<readonly string[]>;
  begin(round?: string): Promise<void>;
  found(): Promise<object | undefined>;
}

describe("createVerifier()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup verifier" });
  let made = 0;

  async function open(
    options: Partial<VerifierOptions> = {},
    definition: Partial<RollupOptions> = {},
  ): Promise<Verified> {
    const each = await openExpenses(database.url, definition);
    const { pool, rollup } = each;
    const jobs = createJobTable({ db: pool, name: `verifier_jobs_${(made += 1)}` });
    await jobs.ensureSchema();
    const logger = collectingLogger();
    const verifier = createVerifier({ rollups: { monthly: rollup }, db: pool, jobs, logger, ...options });
    await verifier.ensureSchema();
    return {
      ...each,
      jobs,
      verifier,
      logger,
      async work() {
        const tasks: string[] = [];
        for (let job = (await jobs.claim(1))[0]; job !== undefined; job = (await jobs.claim(1))[0]) {
          tasks.push(job.task);
          await verifier.handlers[job.task]?.(job.payload, {});
          await jobs.ack(job);
        }
        return tasks;
      },
      async begin(round = ROUND) {
        await jobs.enqueue({ task: "rollups:verify", payload: { scheduled_for: round } });
      },
      async found() {
        const { monthly } = await verifier.verifications();
        return monthly && { ...monthly.findings, round: monthly.round };
      },
    };
  }

  it("ROLL-2 compares the month of the tick and the months before it, and stores and logs what differs", async () => {
    await using each = await open();
    expect(await each.found()).to.equal(undefined);
    for (const month of ["01", "02", "03", "04", "05"]) await each.add("acme", inMonth(month), "food", 1);
    await each.add("globex", inMonth("03"), "food", 1);
    await each.begin();
    expect(await each.work()).to.deep.equal(["rollups:verify", "rollups:verify-tenants"]);
    // April and two months before it, in the zone of the rollup.
    const examples = ["02", "03", "04"].map((month) => ({ tenant: "acme", month: `2026-${month}-01` }));
    const globex = { tenant: "globex", month: "2026-03-01" };
    expect(await each.found()).to.deep.equal({
      round: ROUND,
      tenants: 2,
      buckets: 4,
      differing: 2,
      repaired: 0,
      examples: [...examples, globex],
      failed: 0,
      failures: [],
    });
    expect(each.logger.lines).to.deep.equal([
      {
        level: "warn",
        message: "totals differ from their rows",
        fields: {
          rollup: "monthly",
          buckets: 4,
          differing: 2,
          repaired: 0,
          drift: [
            { tenant: "acme", month: "2026-02" },
            { tenant: "acme", month: "2026-03" },
            { tenant: "acme", month: "2026-04" },
            { tenant: "globex", month: "2026-03" },
          ],
        },
      },
    ]);
  });

  it("ROLL-2 with repair, recomputes the buckets that differ, and finds no difference in the next round", async () => {
    await using each = await open({ repair: true, months: 1 });
    await each.add("acme", inMonth("04"), "food", 1);
    await each.begin();
    await each.work();
    expect(await each.found()).to.include({ round: ROUND, buckets: 1, repaired: 1 });
    expect(await each.totals()).to.have.length(1);
    await each.begin(LATER);
    await each.work();
    expect(await each.found()).to.include({ round: LATER, buckets: 0, repaired: 0 });
    expect(each.logger.lines).to.have.length(1);
  });

  it("splits a round of more than 100 tenants into several jobs, and adds up their findings", async () => {
    await using each = await open({ months: 1 });
    // Rows of another month, because a comparison without a difference is faster.
    await each.pool.query(`insert into ${each.source} (tenant_id, spent_at, category, amount)
      select 't' || n, '${inMonth("01")}', 'food', 1 from generate_series(1, 101) as n`);
    for (const tenant of ["t1", "t99"]) await each.add(tenant, inMonth("04"), "food", 1);
    await each.begin();
    const turn = "rollups:verify-tenants";
    expect(await each.work()).to.deep.equal(["rollups:verify", turn, turn]);
    expect(await each.found()).to.include({ tenants: 101, buckets: 2, differing: 2 });
  });

  it("keeps and logs the first 20 buckets that differ", async () => {
    await using each = await open({ months: 6 });
    for (const tenant of ["a", "b", "c", "d"])
      for (const month of ["01", "02", "03", "04", "05", "06"])
        await each.add(tenant, inMonth(month), "food", 1);
    await each.begin("2026-06-15T00:00:00.000Z");
    await each.work();
    expect(await each.found()).to.include({ buckets: 24, differing: 4 });
    expect(each.logger.lines[0]?.fields["drift"]).to.have.length(20);
  });

  it("counts a turn once, although its job runs twice", async () => {
    await using each = await open();
    await each.add("acme", inMonth("04"), "food", 1);
    await each.begin();
    const payload = { rollup: "monthly", round: ROUND, turn: 0 };
    await each.work();
    await each.verifier.handlers["rollups:verify-tenants"]?.(payload, {});
    await each.verifier.handlers["rollups:verify"]?.({ scheduled_for: ROUND }, {});
    expect(await each.work()).to.deep.equal([]);
    expect(await each.found()).to.include({ tenants: 1, buckets: 1 });
    expect(each.logger.lines).to.have.length(1);
  });

  it("keeps a round that is running, and replaces one without progress for 15 minutes", async () => {
    await using each = await open();
    const begin = (round: string): Promise<void> | undefined =>
      each.verifier.handlers["rollups:verify"]?.({ scheduled_for: round }, {});
    await begin(ROUND);
    await begin(LATER);
    expect((await each.jobs.stats()).pending).to.equal(1);
    await each.pool.query("update svc_rollup_verifications set moved_at = now() - interval '16 minutes'");
    await begin(LATER);
    expect((await each.jobs.stats()).pending).to.equal(2);
    expect((await each.found()) as object).to.deep.include({
      round: ROUND,
      error: "the verification before this one did not end: see its jobs of the task rollups:verify-tenants",
    });
    // The job of the abandoned round changes nothing.
    await each.work();
    expect(await each.found()).to.include({ round: LATER, tenants: 0 });
  });

  it("reports why a rollup cannot be verified, and verifies it in the next round", async () => {
    await using each = await open();
    await each.add("acme", inMonth("04"), "food", 1);
    await each.pool.query("update svc_rollups set zone = 'America/Lima' where rollup = $1", [
      each.rollup.table,
    ]);
    await each.begin();
    await each.work();
    const error = `the totals of ${each.rollup.name} use months in America/Lima, not in Europe/Berlin: call rebuildAll() once`;
    expect(await each.found()).to.include({ error, tenants: 0 });
    expect(each.logger.lines[0]).to.deep.include({
      message: "a rollup cannot be verified",
      fields: { rollup: "monthly", reason: error },
    });
    await each.rollup.rebuildAll(each.pool);
    await each.begin(LATER);
    await each.work();
    expect(await each.found())
      .to.deep.include({ tenants: 1, buckets: 0 })
      .and.not.to.have.property("error");
  });

  it("ROLL-2 skips and counts a tenant whose rows make a measure fail, and repairs those before and after it", async () => {
    const measures = { share: { sql: "sum(100 / amount)", type: "numeric(14, 2)" } };
    await using each = await open({ repair: true }, { measures });
    for (const [tenant, amount] of [
      ["a", 1],
      ["b", 0],
      ["c", 1],
    ] as const)
      await each.add(tenant, inMonth("04"), "food", amount);
    await each.begin();
    await each.work();
    const failures = [{ tenant: "b", reason: "SQLSTATE 22012" }];
    expect(await each.found()).to.deep.include({ tenants: 2, buckets: 2, repaired: 2, failed: 1, failures });
    expect((await each.totals()).map(({ tenant_id: tenant }) => tenant)).to.deep.equal(["a", "c"]);
    expect(
      each.logger.lines.map(({ message, fields }) => [message, fields["failed"] ?? fields["repaired"]]),
    ).to.deep.equal([
      ["some tenants could not be compared", 1],
      ["totals differ from their rows", 2],
    ]);
    expect(each.logger.lines[0]?.fields).to.deep.equal({ rollup: "monthly", failed: 1, failures });
  });

  it("ROLL-2 skips and counts a tenant whose bucket is locked longer than the time limit, and compares the others", async () => {
    await using each = await open({ repair: true }, { commandTimeoutMs: 300 });
    const { pool, rollup } = each;
    await withTransaction(pool, async (tx) => {
      await rollup.refresh(tx, { tenant: "b", at: inMonth("04") });
      for (const tenant of ["a", "b", "c"]) await each.add(tenant, inMonth("04"), "food", 1);
      // Another bucket of the same tenant is not locked.
      await each.add("b", inMonth("03"), "food", 1);
      await each.begin();
      await each.work();
    });
    const failures = [{ tenant: "b", reason: "ERR_SVC_SQL_DEADLINE" }];
    expect(await each.found()).to.deep.include({ tenants: 2, buckets: 3, repaired: 3, failed: 1, failures });
    await each.begin(LATER);
    await each.work();
    expect(await each.found()).to.deep.include({ tenants: 3, buckets: 1, repaired: 1, failed: 0 });
  });

  it("reports why a bucket cannot be repaired", async () => {
    const groupBy = { category: { column: "category", type: "varchar(8)" } };
    await using each = await open({ repair: true }, { groupBy });
    await each.add("acme", inMonth("04"), "much too long", 1);
    await each.begin();
    await each.work();
    const found = (await each.found()) as { unrepaired?: string };
    expect(found).to.include({ buckets: 1, repaired: 0, failed: 0 });
    expect(found.unrepaired).to.match(/category/);
    expect(each.logger.lines[0]?.fields["reason"]).to.equal(found.unrepaired);
  });

  it("ends the round with an error when the last attempt of a job fails, and keeps what was found", async () => {
    await using each = await open();
    await each.add("acme", inMonth("04"), "food", 1);
    await each.verifier.handlers["rollups:verify"]?.({ scheduled_for: ROUND }, {});
    const [job] = await each.jobs.claim(1);
    // The first connection of each attempt, which reads the tenants, is lost.
    let isLost = true;
    const db = {
      async connect() {
        if (!isLost) return each.pool.connect();
        isLost = false;
        throw Object.assign(new Error("terminated"), { code: "57P01" });
      },
      query: each.pool.query.bind(each.pool),
    };
    const rollups = { monthly: each.rollup };
    const verifier = createVerifier({ rollups, db: db as never, jobs: each.jobs });
    const run = (attempts: number): Promise<void> | undefined => {
      isLost = true;
      return verifier.handlers["rollups:verify-tenants"]?.(job?.payload, { attempts, maxAttempts: 3 });
    };
    expect(await rejection(Promise.resolve(run(2)))).to.have.property("code", "57P01");
    expect(await each.found()).to.equal(undefined);
    await run(3);
    expect(await each.found()).to.deep.include({ error: "SQLSTATE 57P01", tenants: 0 });
  });

  it("rejects a payload without a tick, and a job of a rollup that the process does not have", async () => {
    await using each = await open();
    const { handlers } = each.verifier;
    for (const payload of [{}, null, { scheduled_for: "soon" }]) {
      const error = await rejection(Promise.resolve(handlers["rollups:verify"]?.(payload, {})));
      expect(error.message).to.equal("the payload must have the tick as scheduled_for, ISO 8601");
    }
    const payload = { rollup: "yearly", round: ROUND, turn: 0 };
    const error = await rejection(Promise.resolve(handlers["rollups:verify-tenants"]?.(payload, {})));
    expect(error.message).to.equal('this process has no rollup "yearly"');
  });

  it("rejects values that are not rollups, and two rollups of one table or name", async () => {
    await using each = await open();
    const { pool: db, jobs, rollup } = each;
    const faults = (rollups: object): readonly string[] => {
      try {
        createVerifier({ rollups: rollups as never, db, jobs });
      } catch (error) {
        return (error as ConfigurationError).faults.map(({ key, message }) => `${key} ${message}`);
      }
      return [];
    };
    const { table } = rollup;
    expect(
      faults({ a: {}, b: rollup, c: defineRollup({ ...EXPENSES, name: "other", table }) }),
    ).to.deep.equal([
      "rollups.a must be a rollup returned by defineRollup()",
      `rollups.c has the table ${table}, as rollups.b; choose another table`,
    ]);
    expect(
      faults({ b: defineRollup(EXPENSES), c: defineRollup({ ...EXPENSES, table: "app.expense_months" }) }),
    ).to.deep.equal([
      "rollups.c has the name expense_months, as rollups.b; their jobs would have one task: rename it",
    ]);
    const of = (given: string) => defineRollup({ ...EXPENSES, name: given.replace(".", "_"), table: given });
    for (const [one, other] of [
      ["tt", "public.tt"],
      ["public.tt", "tt"],
    ] as const) {
      expect(faults({ a: of(one), b: of(other) })).to.deep.equal([
        `rollups.b has the table ${other}, which may be ${one} of rollups.a: write both with their schema, or choose another table`,
      ]);
    }
    expect(faults({ a: of("public.tt"), b: of("app.tt"), c: of("other") })).to.deep.equal([]);
  });
});
