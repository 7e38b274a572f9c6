import pg from "pg";
import { type Job, PgBoss } from "pg-boss";
import { BUFFER, type Contestant } from "./contestant.ts";
import { ownVersion } from "./versions.ts";

interface Payload {
  readonly n: number;
}

const PLAIN = "work";
const NOTIFIED = "notified";
const CHUNK = 1000;
const DEADLOCKS = 5;

/**
 * Creates the queue pg-boss. `default`: one worker per slot, which fetches one job and polls again after two seconds.
 * `fastest`: workers that fetch 500 jobs in total, without a pause while their batches are full; their handlers run as
 * many jobs concurrently as the other queues do. `tell()` switches to a queue with `notify`, because otherwise the latency
 * would be the polling interval.
 *
 * @param most the number of workers that share the batch in the mode `fastest`: four with 125 jobs each are faster than
 *   one with 500
 */
export async function createBoss(url: string, most = 1): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(PLAIN);
  await boss.createQueue(NOTIFIED, { notify: true });
  let queue = PLAIN;
  const rowsOf = (numbers: readonly number[]): { data: Payload }[] => numbers.map((n) => ({ data: { n } }));
  return {
    about: `pg-boss ${ownVersion("pg-boss")}`,
    async fill(numbers) {
      for (let at = 0; at < numbers.length; at += CHUNK)
        await boss.insert(queue, rowsOf(numbers.slice(at, at + CHUNK)));
    },
    enqueueOne: async (n) => void (await boss.send(queue, { n })),
    enqueueMany: async (numbers) => void (await boss.insert(queue, rowsOf(numbers))),
    async work(concurrency, mode, work) {
      if (mode === "default") {
        await boss.work<Payload>(queue, { localConcurrency: concurrency }, async ([job]) => {
          if (job !== undefined) await work(job.data.n);
        });
      } else {
        const workers = Math.min(most, concurrency);
        const options = {
          localConcurrency: workers,
          batchSize: BUFFER / workers,
          burstWhenBatchFull: true,
        };
        await boss.work<Payload>(queue, options, (jobs) =>
          inLanes(jobs, Math.ceil(concurrency / workers), work),
        );
      }
      return { stop: () => boss.offWork(queue, { wait: true }) };
    },
    tell() {
      queue = NOTIFIED;
    },
    async live() {
      const { rows } = await pool.query<{ live: boolean }>(
        "select exists(select from pgboss.job where state < 'completed') as live",
      );
      return rows[0]?.live ?? true;
    },
    async clean() {
      await boss.deleteAllJobs(PLAIN);
      await boss.deleteAllJobs(NOTIFIED);
      await again(() => pool.query("vacuum analyze pgboss.job"));
    },
    analyze: () => again(() => pool.query("analyze pgboss.job")),
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

/** Repeats a statement after a deadlock, because pg-boss's own maintenance may lock the table in the opposite order. */
async function again(send: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await send();
      return;
    } catch (error) {
      const isDeadlock = (error as { readonly code?: unknown }).code === "40P01";
      if (!isDeadlock || attempt === DEADLOCKS) throw error;
    }
  }
}

async function inLanes(
  jobs: readonly Job<Payload>[],
  lanes: number,
  work: (n: number) => Promise<void> | undefined,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) await work(job.data.n);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, jobs.length) }, lane));
}
