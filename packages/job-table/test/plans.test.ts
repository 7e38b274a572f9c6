import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import type { QueryResult, Row } from "@svc/sql";
import { expect } from "chai";
import type { Pool } from "pg";
import { deleteSql, deleteValues } from "../src/sql/ack.ts";
import { openPool } from "./support/bench.ts";
import { work } from "./support/working.ts";

const MANY = 250_000;
const LEASE = { id: "x", attempts: 1, lockedUntil: "2026-01-01T00:00:00.000000Z" };

/** A database that explains statements instead of running them. */
function explaining(
  pool: Pool,
  plans: string[],
): { query<R extends Row>(t: string, v?: unknown[]): Promise<QueryResult<R>> } {
  return {
    async query<R extends Row>(text: string, values: unknown[] = []) {
      const { rows } = await pool.query<{ "QUERY PLAN": string }>(`explain (costs off) ${text}`, values);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
      return { rows: [] as R[] };
    },
  };
}

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map((each) => JSON.stringify(each)).join(",")}}`;
  return String(value);
}

describe("query plans", function () {
  this.timeout(120_000);
  const database = testDatabase({ name: "job-plans" });
  let pool: Pool;

  async function plansOf(name: string): Promise<string[]> {
    const plans: string[] = [];
    const table = createJobTable({ db: explaining(pool, plans), name });
    await table.claim(1);
    await table.claim(50);
    await table.ack(LEASE);
    await table.fail(LEASE, "x");
    await table.release(LEASE);
    await table.retryDead(["x"]);
    return plans;
  }

  async function fill(name: string, status: string, available: string, locked: string): Promise<void> {
    // The plans depend neither on the write-ahead log nor on the order of the ids. An unlogged table that is filled in the
    // order of the ids saves the server a quarter of the CPU time.
    await pool.query(
      `alter table ${name} set unlogged;
       insert into ${name} (id, task, status, available_at, locked_until)
       select '${status}' || lpad(n::text, 6, '0'), 'a', '${status}', ${available}, ${locked} from generate_series(1, ${MANY}) as n`,
    );
  }

  before(() => {
    pool = openPool(database.url, 4);
  });
  after(() => pool.end());

  it("JOB-24 use index scans even when made for an empty table, so that they suit a table that has grown", async () => {
    const table = createJobTable({ db: pool, name: "empty" });
    await table.ensureSchema();
    await pool.query("vacuum analyze empty");
    const statements = new Map<string, Prepared>();
    const recording = {
      async connect() {
        const client = await pool.connect();
        return {
          async query<R extends Row>(given: unknown): Promise<QueryResult<R>> {
            if (typeof given === "string") return { rows: [] };
            const statement = given as Prepared;
            statements.set(statement.name, statement);
            return client.query<R>(statement.text, statement.values);
          },
          on: () => undefined,
          release: () => client.release(),
        };
      },
    };
    const lent = createJobTable({ db: recording, name: "empty" });
    await using working = work(
      { pool, table: lent, rows: async () => [], [Symbol.asyncDispose]: async () => undefined },
      {
        concurrency: 2,
        jobTimeoutSeconds: 1,
        handlers: { a: () => undefined, b: () => Promise.reject(new Error("no")) },
      },
    );
    for (let n = 0; statements.size < 5; n++) {
      await table.enqueueMany(["a", "a", "a", "b"].map((task) => ({ task })));
      // A job whose lease expired on its last attempt.
      await pool.query(
        `insert into empty (id, task, status, attempts, max_attempts, locked_until)
         values ('exhausted' || $1, 'a', 'running', 1, 1, now() - interval '1 second')`,
        [n],
      );
      await working.reported("dead", n + 1);
      await working.reported("failed", n + 1);
    }
    await working.worker.stop();
    const client = await pool.connect();
    await client.query("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
    expect([...statements.keys()]).to.include.members([
      "svc_job_recover",
      "svc_job_dead_letter",
      "svc_job_fail",
    ]);
    expect([...statements.keys()].some((name) => /few|hot|fused/.test(name))).to.equal(true);
    for (const { name, text, values } of statements.values()) {
      await client.query(`prepare ${name} as ${text}`);
      const parameters = values.map((value) => client.escapeLiteral(literalOf(value))).join(", ");
      const call = parameters === "" ? name : `${name} (${parameters})`;
      const { rows } = await client.query<Record<string, string>>(`explain execute ${call}`);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan, `${name}\n${plan}`).not.to.match(/Seq Scan/);
      // Every index scan must have a condition; without one it would read the whole index.
      expect(plan.match(/Index (Only )?Scan/g)?.length, `${name}\n${plan}`).to.equal(
        plan.match(/Index Cond/g)?.length,
      );
      const isSweep = name === "svc_job_recover" || name === "svc_job_dead_letter";
      if (!isSweep) expect(plan, `${name}\n${plan}`).not.to.include("empty_running_idx");
      if (!/few|hot|fused/.test(name)) continue;
      // One index scan finds the jobs in order; the update uses their ctid.
      expect(plan.split("empty_pending_idx"), `${name}\n${plan}`).to.have.lengthOf(2);
      expect(plan).to.match(
        /Index Cond: \(\(available_at <= statement_timestamp\(\)\) AND \(available_at >= /,
      );
      expect(plan).to.match(/TID Cond: \(ctid = ANY/);
    }
    client.release(true);
  });

  const states: readonly (readonly [string, string, string])[] = [
    ["dead", "now()", "null"],
    ["pending", "now() + interval '1 day'", "null"],
    ["running", "now()", "now() + n * interval '1 ms'"],
  ];
  for (const [status, available, locked] of states) {
    it(`JOB-24 use the two indexes for claims and the primary-key index for finished jobs, among ${MANY} ${status} rows`, async () => {
      const name = `many_${status}`;
      await createJobTable({ db: pool, name }).ensureSchema();
      await fill(name, status, available, locked);
      // Check the plan first without statistics, then with them.
      for (const step of ["select 1", `analyze ${name}`]) {
        await pool.query(step);
        for (const plan of await plansOf(name)) expect(plan, `${step}: ${plan}`).not.to.match(/Seq Scan/);
        const [claim = "", , ...ends] = await plansOf(name);
        for (const end of ends) expect(end).to.include(`${name}_pkey`).and.not.to.include("_idx");
        expect(claim).to.include(`using ${name}_pending_idx`);
        expect(claim).to.include(`${name}_running_idx`);
        expect(claim).to.match(/Index Cond: \(\(?available_at <= statement_timestamp\(\)/);
        expect(claim).to.match(/Index Cond: \(locked_until < statement_timestamp\(\)/);
      }
    });
  }

  it("JOB-24 use the primary-key index for a claim and an ack when most pages of the table and the index are empty", async () => {
    const name = "deserted";
    await createJobTable({ db: pool, name }).ensureSchema();
    await pool.query(
      `insert into ${name} (id, task, available_at)
       select md5(n::text), case when n > 100000 then 'kept' else 'a' end, now() + interval '1 day'
       from generate_series(1, 100010) as n`,
    );
    await pool.query(`delete from ${name} where task <> 'kept'`);
    for (let kept = 10; kept > 0; kept--) {
      await pool.query(`delete from ${name} where id not in (select id from ${name} limit ${kept})`);
      await pool.query(`vacuum analyze ${name}`);
      const [claim = "", many = "", ...ends] = await plansOf(name);
      await explaining(pool, ends).query(deleteSql(name, 1), deleteValues(Array(50).fill(LEASE)));
      // With two rows the planner expects to read half of the primary-key index.
      if (kept === 2) continue;
      for (const plan of [claim, many, ...ends]) expect(plan, `${kept}: ${plan}`).not.to.match(/Seq Scan/);
      for (const plan of [claim, many])
        expect(plan.match(/ (on|using) deserted_pkey/g), plan).to.have.lengthOf(2);
    }
    const { rows } = await pool.query<{ pages: number }>(
      `select (pg_relation_size('${name}') / 8192)::int as pages`,
    );
    expect(rows[0]?.pages, "the table keeps its old pages").to.be.greaterThan(1000);
  });
});
