import { createJobTable, createWorker } from "@svc/job-table";
import pg from "pg";
import { BUFFER, type Contestant } from "./contestant.ts";
import { ownVersion } from "./versions.ts";

const CHUNK = 10_000;

/**
 * Creates the queue `@svc/job-table` with its defaults. Only `concurrency` and `prefetch` differ between rows.
 *
 * @param apart whether single jobs are queued through a separate client without a worker
 */
export async function createSvc(url: string, apart = false): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url });
  const table = createJobTable({ db: pool });
  await table.ensureSchema();
  const queueing = apart ? createJobTable({ db: pool }) : table;
  const jobsOf = (numbers: readonly number[]): { task: string; payload: object }[] =>
    numbers.map((n) => ({ task: "work", payload: { n } }));
  return {
    about: `@svc/job-table ${ownVersion("@svc/job-table")}`,
    async fill(numbers) {
      for (let at = 0; at < numbers.length; at += CHUNK)
        await table.enqueueMany(jobsOf(numbers.slice(at, at + CHUNK)));
    },
    enqueueOne: async (n) => void (await queueing.enqueue({ task: "work", payload: { n } })),
    enqueueMany: async (numbers) => void (await table.enqueueMany(jobsOf(numbers))),
    async work(concurrency, mode, work) {
      const worker = createWorker({
        table,
        concurrency,
        prefetch: mode === "default" ? 0 : BUFFER - concurrency,
        handlers: { work: (payload) => work((payload as { n: number }).n) },
      });
      worker.start();
      return { stop: () => worker.stop() };
    },
    async live() {
      const { rows } = await pool.query<{ live: boolean }>("select exists(select from svc_jobs) as live");
      return rows[0]?.live ?? true;
    },
    clean: async () => void (await pool.query("vacuum analyze svc_jobs")),
    analyze: async () => void (await pool.query("analyze svc_jobs")),
    close: () => pool.end(),
  };
}
