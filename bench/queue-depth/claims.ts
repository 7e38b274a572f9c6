import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import type { Pool, QueryResult, QueryResultRow } from "pg";

interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Claims and deletes `jobs` jobs, one after the other, and answers how long each claim took, in milliseconds. */
export async function timeCalls(table: JobTable, jobs: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < jobs; n++) {
    await table.enqueue({ task: "work" });
    const begun = performance.now();
    const [job] = await table.claim(1);
    times.push(performance.now() - begun);
    if (job === undefined || !(await table.ack(job))) throw new Error("a job was not there");
  }
  return times;
}

/** How long a server needs to find the job that is due first, and no more: an order cannot be kept for less. */
export async function timeFinding(pool: Pool, table: JobTable, times: number): Promise<number[]> {
  await table.enqueue({ task: "work" });
  const text = `select id from ${table.name} where status = 'pending' and available_at <= now() order by available_at limit 1`;
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const begun = performance.now();
    const { rowCount } = await pool.query(text);
    taken.push(performance.now() - begun);
    if (rowCount !== 1) throw new Error("a job was not there");
  }
  const [job] = await table.claim(1);
  if (job === undefined || !(await table.ack(job))) throw new Error("a job was not there");
  return taken;
}

/**
 * Has a worker with one slot do `jobs` jobs, and answers how long its statements took that claim one; those that follow a
 * finished job delete it as well.
 */
export async function timeWorker(pool: Pool, table: JobTable, jobs: number): Promise<number[]> {
  await table.enqueueMany(Array.from({ length: jobs }, () => ({ task: "work" })));
  const times: number[] = [];
  await workOff(createJobTable({ db: timed(pool, times), name: table.name }), 1, jobs);
  return times.slice(0, jobs);
}

/** Has a worker of its own do so many jobs. */
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

/** A pool whose connections tell how long statements that claim take. */
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
