import type { Job, JobContext, JobHandler, JobTable } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import type { Notes } from "../harness/job-notes.ts";

interface Parts {
  readonly pool: Pool;
  readonly table: JobTable;
  readonly notes: Notes;
  readonly handler: JobHandler;
}

const slots = 4;

/**
 * Runs a faulty worker: one that acknowledges a job before it runs, or one that claims with a read and a separate
 * write.
 */
export function workBadly(
  variant: "broken-ack-first" | "broken-read-then-write",
  { pool, table, notes, handler }: Parts,
): void {
  const claim = variant === "broken-ack-first" ? () => claimAndForget(table) : () => readThenWrite(pool);
  const loop = async (): Promise<void> => {
    for (;;) {
      const jobs = await claim().catch(() => []);
      await Promise.all(
        jobs.map(async (job) => {
          try {
            await handler(job.payload, contextOf(job));
            await pool.query("delete from svc_jobs where id = $1", [job.id]);
            notes.write("done", job);
          } catch {
            await table.fail(job, "failed").catch(() => undefined);
          }
        }),
      );
      if (jobs.length === 0) await delay(50);
    }
  };
  void loop();
}

export function contextOf(job: Job): JobContext {
  const { id, task, attempts, maxAttempts, requestId, tenantId, trace } = job;
  const { signal } = new AbortController();
  return { id, task, attempts, maxAttempts, requestId, tenantId, trace, signal };
}

async function claimAndForget(table: JobTable): Promise<readonly Job[]> {
  const jobs = await table.claim(slots);
  await Promise.all(jobs.map((job) => table.ack(job)));
  return jobs;
}

/** Waits until two workers have read, so that their writes are certain to conflict. */
async function untilTwoHaveRead(pool: Pool): Promise<void> {
  // Never release the connection: the process holds the lock until it exits.
  const client = await pool.connect();
  client.on("error", () => undefined);
  await client.query("select pg_advisory_lock_shared(1)");
  for (let waited = 0; waited < 10_000; waited += 10) {
    const { rowCount } = await client.query(
      `select 1 from pg_locks where locktype = 'advisory'
       and database = (select oid from pg_database where datname = current_database())`,
    );
    if ((rowCount ?? 0) > 1) return;
    await delay(10);
  }
}

let twoHaveRead: Promise<void> | undefined;

async function readThenWrite(pool: Pool): Promise<readonly Job[]> {
  const { rows: found } = await pool.query<{ id: string }>(
    `select id from svc_jobs where status = 'pending' or locked_until < now() order by available_at, id limit ${slots}`,
  );
  // Both workers read the same jobs, because neither has written. Without jobs there is no conflict to wait for.
  if (found.length > 0) twoHaveRead ??= untilTwoHaveRead(pool).catch(() => undefined);
  // Give the other worker time to read, even on a busy machine.
  await Promise.all([twoHaveRead, delay(50)]);
  const { rows } = await pool.query<{ id: string; attempts: number; max_attempts: number; lease: string }>(
    `update svc_jobs set status = 'running', attempts = attempts + 1, locked_until = now() + interval '3 seconds'
     where id = any($1) returning id, attempts, max_attempts, locked_until::text as lease`,
    [found.map(({ id }) => id)],
  );
  return rows.map(({ id, attempts, max_attempts: maxAttempts, lease: lockedUntil }) => ({
    id,
    task: "work",
    payload: {},
    attempts,
    maxAttempts,
    lockedUntil,
    waitedMs: 0,
    requestId: undefined,
    tenantId: undefined,
    trace: undefined,
  }));
}
