import { createJobTable, createWorker } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { BenchOptions } from "../harness/bench.ts";
import { type Effort, type Result } from "./rows.ts";

const LEASES = 1000;
const NEWER = { jobs: 5, everyMs: 20 };
const LEASE_MS = 1500;
const GIVEN_UP_MS = 60_000;

/** The maximum of each result in milliseconds (JOB-34). */
export const recoveryLimits = { "recovery/1000-expired": 2000, "recovery/under-flow": 1000 } as const;
export type RecoveryMetric = keyof typeof recoveryLimits;

/**
 * Measures how fast a worker recovers 1,000 expired leases. `recovery/1000-expired`: the time until the last of these
 * jobs starts, counted from the expiry, or in every second round from the start of a worker after the expiry; for
 * comparison, the time in which a worker starts 1,000 pending jobs. `recovery/under-flow`: how long before that last
 * job the first newer job starts, while 250 newer jobs a second are queued.
 */
export async function measureRecovery(
  url: string,
  metrics: readonly RecoveryMetric[],
  { rounds, share }: Effort,
  { note }: Pick<BenchOptions, "note">,
): Promise<Result[]> {
  const results: Result[] = [];
  const jobs = Math.round(LEASES * share);
  for (const metric of metrics) {
    const isFlowing = metric === "recovery/under-flow";
    const values: number[] = [];
    const pending: number[] = [];
    for (let round = 0; round < Math.max(2, rounds); round++) {
      values.push(await measureRound(url, { jobs, isFlowing, startsLater: round % 2 === 1 }));
      if (!isFlowing) pending.push(await measureRound(url, { jobs, isPending: true, startsLater: true }));
    }
    note(`${metric} measured`);
    const limit = recoveryLimits[metric];
    results.push({ name: "svc", metric, unit: "ms", values, bound: undefined, limit });
    if (!isFlowing) results.push({ name: "pending", metric, unit: "ms", values: pending, bound: undefined });
  }
  return results;
}

interface Round {
  readonly jobs: number;
  /** Whether newer jobs are queued during the recovery. */
  readonly isFlowing?: boolean;
  /** Whether the worker starts after the leases have expired. */
  readonly startsLater: boolean;
  /** Whether the jobs are pending instead of leased. */
  readonly isPending?: boolean;
}

async function measureRound(
  url: string,
  { jobs, isFlowing, startsLater, isPending }: Round,
): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const pool = new pg.Pool({ connectionString: url });
  stack.defer(() => pool.end());
  const table = createJobTable({ db: pool });
  await table.ensureSchema();
  await pool.query("truncate svc_jobs");
  await table.enqueueMany(Array.from({ length: jobs }, () => ({ task: "lost" })));
  await pool.query("vacuum analyze svc_jobs");
  const endsAt = isPending === true ? performance.now() : await loseLeases(pool);
  if (startsLater) await delay(endsAt - performance.now() + 10);
  const readyAt = Math.max(endsAt, performance.now());
  const all = Promise.withResolvers<void>();
  const newerStarts: number[] = [];
  let left = jobs;
  const worker = createWorker({
    table,
    handlers: {
      lost: () => {
        if (--left === 0) all.resolve();
      },
      newer: () => void newerStarts.push(performance.now()),
    },
  });
  worker.start();
  stack.defer(() => worker.stop());
  const over = new AbortController();
  const flowing = isFlowing === true ? queueNewer(url, over.signal) : undefined;
  await Promise.race([all.promise, delay(GIVEN_UP_MS, undefined, { ref: false })]);
  const last = performance.now();
  over.abort();
  await flowing;
  if (isFlowing !== true) return last - readyAt;
  return last - Math.min(last, ...newerStarts.filter((at) => at >= readyAt));
}

/** Leaves jobs as a killed worker would. Returns the time at which their leases end, by `performance.now()`. */
async function loseLeases(pool: pg.Pool): Promise<number> {
  await pool.query(
    `update svc_jobs set status = 'running', attempts = 1, locked_until = now() + $1 * interval '1 millisecond'`,
    [LEASE_MS],
  );
  const { rows } = await pool.query<{ ms: number }>(
    "select date_part('epoch', max(locked_until) - clock_timestamp()) * 1000 as ms from svc_jobs",
  );
  return performance.now() + (rows[0]?.ms ?? 0);
}

/** Queues newer jobs without a worker, as a separate producer would. */
async function queueNewer(url: string, over: AbortSignal): Promise<void> {
  const pool = new pg.Pool({ connectionString: url });
  const table = createJobTable({ db: pool });
  while (!over.aborted) {
    await table.enqueueMany(Array.from({ length: NEWER.jobs }, () => ({ task: "newer" })));
    await delay(NEWER.everyMs);
  }
  await pool.end();
}
