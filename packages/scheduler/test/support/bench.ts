import { createJobTable, type JobTable } from "@svc/job-table";
import { createScheduler, type Scheduler, type SchedulerOptions } from "@svc/scheduler";
import { Pool } from "pg";

/** The job table and table of ticks of one test, with a clock that the test controls. */
export interface Bench extends AsyncDisposable {
  readonly pool: Pool;
  readonly table: JobTable;
  readonly ticks: string;
  /** Milliseconds since the Unix epoch. */
  nowMs: number;
  /** Creates a scheduler on the controlled clock. */
  scheduler(options: Partial<SchedulerOptions> & Pick<SchedulerOptions, "schedules">): Scheduler;
  jobs(): Promise<readonly JobRow[]>;
  /** Returns the claimed ticks, oldest first. */
  claims(): Promise<readonly ClaimRow[]>;
}

export interface JobRow {
  readonly id: string;
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
  readonly status: string;
}

export interface ClaimRow {
  readonly name: string;
  readonly fire_at: Date;
  readonly claimed_by: string;
  readonly claimed_at: Date;
}

export const MINUTE_MS = 60_000;
/** A full hour, so that ticks are easy to read. */
export const NOON = Date.parse("2026-01-05T12:00:00Z");

let benches = 0;

export function openPool(url: string, max = 6): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

export async function openBench(url: string, pool: Pool = openPool(url)): Promise<Bench> {
  benches += 1;
  const name = `jobs_${benches}`;
  const ticks = `ticks_${benches}`;
  const table = createJobTable({ db: pool, name, notifyEveryMs: 0 });
  await table.ensureSchema();
  const bench: Bench = {
    pool,
    table,
    ticks,
    nowMs: NOON,
    scheduler: (options) => createScheduler({ table, ticksTable: ticks, now: () => bench.nowMs, ...options }),
    jobs: async () =>
      (await pool.query<JobRow>(`select * from ${name} order by payload ->> 'scheduled_for'`)).rows,
    claims: async () =>
      (
        await pool.query<ClaimRow>(
          `select * from ${ticks} where claimed_by is not null order by fire_at, name`,
        )
      ).rows,
    [Symbol.asyncDispose]: () => pool.end(),
  };
  await bench.scheduler({ schedules: {} }).ensureSchema();
  return bench;
}

/** Returns ticks as minutes after noon. */
export function minutes(ticks: readonly { readonly at: string }[]): number[] {
  return ticks.map(({ at }) => (Date.parse(at) - NOON) / MINUTE_MS);
}
