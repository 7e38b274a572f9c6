import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import type { Pool, QueryResult, QueryResultRow } from "pg";

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Claims and deletes `jobs` jobs one by one, and returns the time of each claim in milliseconds. */
export async function timeCalls(table: JobTable, jobs: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < jobs; n++) {
    await table.enqueue({ task: "work" });
    const begun = performance.now();
    const [job] = await table.claim(1);
    times.push(performance.now() - begun);
    if (job === undefined || !(await table.ack(job))) throw new Error("the job could not be claimed");
  }
  return times;
}

/**
 * Times the shortest statement that claims the first due job, or one with an expired lease, in the order of
 * `available_at`, using the two indexes.
 */
export async function timeByHand(pool: Pool, table: JobTable, jobs: number): Promise<number[]> {
  const { name } = table;
  const text = `update ${name} set status = 'running', attempts = attempts + 1, locked_until = now() + interval '300 s'
    where ctid = any(array(
      select ctid from ${name} where (status = 'pending' and available_at <= now()) or (status = 'running' and locked_until < now())
      order by available_at limit 1 for update skip locked
    )) returning id`;
  const times: number[] = [];
  for (let n = 0; n < jobs; n++) {
    await table.enqueue({ task: "work" });
    const begun = performance.now();
    const { rows } = await pool.query<{ id: string }>(text);
    times.push(performance.now() - begun);
    if (rows.length !== 1) throw new Error("the job could not be claimed");
    await pool.query(`delete from ${name} where id = $1`, [rows[0]?.id]);
  }
  return times;
}

/**
 * Lets a worker with one slot run `jobs` jobs, and returns the times of its claiming statements. A claiming statement
 * that follows a finished job also deletes that job.
 */
export async function timeWorker(pool: Pool, table: JobTable, jobs: number): Promise<number[]> {
  await table.enqueueMany(Array.from({ length: jobs }, () => ({ task: "work" })));
  const times: number[] = [];
  await workOff(createJobTable({ db: timed(pool, times), name: table.name }), 1, jobs);
  return times.slice(0, jobs);
}

/** Starts a worker, waits until it has run `jobs` jobs, and stops it. */
export async function workOff(
  table: JobTable,
  concurrency: number,
  jobs: number,
  prefetch = 0,
): Promise<void> {
  const all = Promise.withResolvers<void>();
  let left = jobs;
  const worker = createWorker({
    table,
    concurrency,
    prefetch,
    handlers: {
      work() {
        if (--left === 0) all.resolve();
      },
    },
  });
  worker.start();
  await all.promise;
  await worker.stop();
}

type Db = Parameters<typeof createJobTable>[0]["db"];

/** Makes a pool whose connections record the times of claiming statements. */
function timed(pool: Pool, times: number[]): Db {
  return {
    async connect() {
      const client = await pool.connect();
      return {
        async query<R extends QueryResultRow>(given: unknown, values?: unknown[]): Promise<QueryResult<R>> {
          if (typeof given === "string") return client.query<R>(given, values);
          const statement = given as Prepared;
          const begun = performance.now();
          const answer = await client.query<R>(statement);
          if (statement.name.includes("claim")) times.push(performance.now() - begun);
          return answer;
        },
        on: (event: "error", listener: () => void) => client.on(event, listener),
        removeListener: (event: "error", listener: () => void) => client.removeListener(event, listener),
        release: (error?: Error) => client.release(error),
      };
    },
  };
}
