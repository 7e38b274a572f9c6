import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { BUFFER, type Contestant } from "./contestant.ts";
import { ownVersion } from "./versions.ts";

const CHUNK = 1000;
// By default graphile-worker logs every job, and this bench does not read the log.
const logger = new Logger(() => () => undefined);

/**
 * Creates the queue graphile-worker. `default`: its preset, with the pool size that its manual recommends for so many
 * concurrent jobs. `fastest`: the local queue fetches 500 jobs at a time, and completions are written in batches
 * without a delay.
 */
export async function createGraphile(url: string): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url });
  // The manual of graphile-worker requires these handlers.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  await runMigrations({ pgPool: pool, logger });
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  const specsOf = (numbers: readonly number[]): { identifier: string; payload: object }[] =>
    numbers.map((n) => ({ identifier: "work", payload: { n } }));
  return {
    about: `graphile-worker ${ownVersion("graphile-worker")}`,
    async fill(numbers) {
      for (let at = 0; at < numbers.length; at += CHUNK)
        await utils.addJobs(specsOf(numbers.slice(at, at + CHUNK)));
    },
    enqueueOne: async (n) => void (await utils.addJob("work", { n })),
    enqueueMany: async (numbers) => void (await utils.addJobs(specsOf(numbers))),
    async work(concurrency, mode, work) {
      const own = { connectionString: url, concurrentJobs: concurrency, logger };
      const maxPoolSize = Math.max(10, concurrency + 2);
      const runner = await run({
        noHandleSignals: true,
        preset: {
          worker:
            mode === "default"
              ? { ...own, maxPoolSize }
              : {
                  ...own,
                  maxPoolSize,
                  localQueue: { size: BUFFER },
                  completeJobBatchDelay: 0,
                  failJobBatchDelay: 0,
                },
        },
        taskList: {
          async work(payload) {
            await work((payload as { n: number }).n);
          },
        },
      });
      return { stop: () => runner.stop() };
    },
    async live() {
      const { rows } = await pool.query<{ live: boolean }>(
        "select exists(select from graphile_worker._private_jobs) as live",
      );
      return rows[0]?.live ?? true;
    },
    clean: async () => void (await pool.query("vacuum analyze graphile_worker._private_jobs")),
    analyze: async () => void (await pool.query("analyze graphile_worker._private_jobs")),
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}
