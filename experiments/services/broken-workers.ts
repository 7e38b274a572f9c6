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

/** Workers with a fault: one that acknowledges what it has not done yet, one that reads and then writes. */
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

/** Nobody writes for the first time before two have read: busy processes would have it so, chance may not. */
async function untilTwoHaveRead(pool: Pool): Promise<void> {
  // Never given back: the lock is held until the process ends.
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
  // The same jobs: neither has written, and where there are none yet there is nothing to meet at.
  if (found.length > 0) twoHaveRead ??= untilTwoHaveRead(pool).catch(() => undefined);
  // As long as a busy host may take: the other one reads meanwhile.
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
