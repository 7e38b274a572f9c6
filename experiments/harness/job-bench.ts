import { createJobTable, type JobTable } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";

/** A job table, and a table in which its jobs record their effects. */
export interface JobBench extends AsyncDisposable {
  readonly pool: Pool;
  readonly table: JobTable;
  /** The folder in which workers write their notes. */
  readonly folder: string;
  rows(): Promise<readonly JobRow[]>;
  /** Returns the number of recorded effects by job id. */
  effects(): Promise<ReadonlyMap<string, number>>;
  /** Waits until no job is pending or running; false after `ms`. Keeps waiting when the database fails. */
  drained(ms: number): Promise<boolean>;
}

export interface JobRow {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly last_error: string | null;
  /** Whether a worker can claim the job now. */
  readonly free: boolean;
}

const rowsSql =
  "select id, status, attempts, max_attempts, last_error, status = 'pending' and available_at <= now() as free from ";

/** @param name name of the job table; the effects are in `<name>_effects` */
export async function openJobBench(
  url: string,
  visibilityTimeoutSeconds: number,
  name = "svc_jobs",
): Promise<JobBench> {
  const pool = new Pool({ connectionString: url, max: 4 });
  pool.on("error", () => undefined);
  const folder = mkdtempSync(join(tmpdir(), "svc-jobs-"));
  const end = async (): Promise<void> => {
    rmSync(folder, { recursive: true, force: true });
    await pool.end();
  };
  try {
    const table = createJobTable({ db: pool, name, visibilityTimeoutSeconds });
    await table.ensureSchema();
    await pool.query(`create table ${name}_effects (job text not null)`);
    return {
      pool,
      table,
      folder,
      rows: async () => (await pool.query<JobRow>(`${rowsSql}${name}`)).rows,
      async effects() {
        const { rows } = await pool.query<{ job: string; count: number }>(
          `select job, count(*)::int as count from ${name}_effects group by job`,
        );
        return new Map(rows.map(({ job, count }) => [job, count]));
      },
      async drained(ms) {
        const last = performance.now() + ms;
        while (performance.now() < last) {
          const { pending, running } = await table
            .stats()
            .catch(() => ({ pending: Number.NaN, running: Number.NaN }));
          if (pending + running === 0) return true;
          await delay(100);
        }
        return false;
      },
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
