import { createJobTable, createWorker } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import type { Effort, Result } from "./rows.ts";

/** The maximum number of transactions per job, by row. The number in a row's name is the number of idle workers. */
export const herdLimits = { "herd/40": 6 } as const;
export type HerdMetric = keyof typeof herdLimits;

const JOBS = 300;
/** The number of jobs that run before the count starts. After them, the behavior of the workers is stable. */
const SETTLING = 60;

/**
 * Counts the transactions of all connections per job while many workers, each with one connection, are idle; the name
 * of the row contains their number. A separate producer queues each job after a pause. For comparison, the waiting
 * times of the jobs are printed, even with a single worker.
 */
export async function measureHerd(
  url: string,
  metrics: readonly HerdMetric[],
  { rounds, share }: Effort,
  { note }: Pick<BenchOptions, "note">,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const metric of metrics) {
    const workers = Number(metric.split("/")[1]);
    const jobs = Math.max(10, Math.round(JOBS * share));
    const values: number[] = [];
    const waits: Record<"one" | "all", number[]> = { one: [], all: [] };
    for (let round = 0; round < Math.max(2, Math.round(rounds * 0.6)); round++) {
      const alone = await measureRound(url, 1, jobs);
      const together = await measureRound(url, workers, jobs);
      values.push(together.transactions);
      waits.one.push(...alone.waitsMs);
      waits.all.push(...together.waitsMs);
    }
    const shown = (all: readonly number[]): string => {
      const sorted = all.toSorted((a, b) => a - b);
      const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
      return `p50 ${summarise(all).median.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
    };
    note(`${metric}: jobs wait ${shown(waits.all)}; with one idle worker ${shown(waits.one)}`);
    results.push({ name: "svc", metric, unit: "tx", values, bound: undefined, limit: herdLimits[metric] });
  }
  return results;
}

async function measureRound(
  url: string,
  workers: number,
  jobs: number,
): Promise<{ readonly transactions: number; readonly waitsMs: readonly number[] }> {
  await using stack = new AsyncDisposableStack();
  const pool = new pg.Pool({ connectionString: url, max: workers + 2 });
  stack.defer(() => pool.end());
  const table = createJobTable({ db: pool });
  await table.ensureSchema();
  await pool.query("truncate svc_jobs");
  await pool.query("vacuum analyze svc_jobs");
  const producing = new pg.Pool({ connectionString: url, max: 1 });
  stack.defer(() => producing.end());
  const producer = createJobTable({ db: producing });
  let begun: () => void = () => undefined;
  for (let n = 0; n < workers; n++) {
    const worker = createWorker({ table, concurrency: 1, handlers: { work: () => begun() } });
    worker.start();
    stack.defer(() => worker.stop());
  }
  await delay(500);
  const waitsMs: number[] = [];
  let before = 0;
  for (let n = -Math.min(jobs, SETTLING); n < jobs; n++) {
    if (n === 0) before = await transactions(producing);
    await delay(15 + 15 * Math.random());
    const started = new Promise<void>((resolve) => (begun = resolve));
    const at = performance.now();
    await producer.enqueue({ task: "work" });
    await started;
    if (n >= 0) waitsMs.push(performance.now() - at);
  }
  return { transactions: ((await transactions(producing)) - before) / jobs, waitsMs };
}

/** Returns the number of transactions in this database so far. */
async function transactions(pool: pg.Pool): Promise<number> {
  // PostgreSQL publishes the counts of an idle connection with a delay.
  await delay(1100);
  const { rows } = await pool.query<{ count: number }>(
    "select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()",
  );
  return rows[0]?.count ?? Number.NaN;
}
