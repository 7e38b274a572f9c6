import { createInbox } from "@svc/events";
import { createJobTable, createWorker, type Job, type JobHandler } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { openNotes } from "../harness/job-notes.ts";
import { announce, settingsOfParent } from "../harness/within-service.ts";
import { contextOf } from "./broken-workers.ts";

export interface StoppedSettings {
  readonly url: string;
  readonly concurrency: number;
  readonly prefetch: number;
  readonly drainSeconds: number;
  readonly notes: string;
  readonly variant: string;
  /** Whether every job finishes immediately: for the worker that runs the released jobs. */
  readonly quickly: boolean;
}

/** A job that finishes within the drain (`short`), reacts to its abort signal (`heeding`), or ignores it (`deaf`). */
export interface StoppedPayload {
  readonly kind: "short" | "heeding" | "deaf";
  readonly ms: number;
}

const {
  url,
  concurrency,
  prefetch,
  drainSeconds,
  notes: file,
  variant,
  quickly,
} = settingsOfParent<StoppedSettings>();
const pool = new Pool({ connectionString: url, max: 12 });
pool.on("error", () => undefined);
const table = createJobTable({ db: pool });
const notes = openNotes(file);
const inbox = createInbox();

const work: JobHandler = async ({ kind, ms }: StoppedPayload, job) => {
  notes.write("start", job);
  if (!quickly) await delay(ms, undefined, kind === "heeding" ? { signal: job.signal } : {});
  await withTransaction(pool, async (tx) => {
    await inbox.once(tx, "work", job.id, () =>
      tx.query("insert into svc_jobs_effects (job) values ($1)", [job.id]),
    );
  });
};

/**
 * Claims `concurrency` jobs itself. On stop, fails the jobs that still run after the drain, which uses up their
 * attempts.
 */
async function keepAttempts(): Promise<() => Promise<void>> {
  const jobs = await table.claim(concurrency);
  const running = new Map<string, Job>(jobs.map((job) => [job.id, job]));
  for (const job of jobs) {
    const run = async (): Promise<void> => {
      await work(job.payload, contextOf(job));
      running.delete(job.id);
      await table.ack(job);
    };
    run().catch(() => undefined);
  }
  return async () => {
    await delay(drainSeconds * 1000);
    for (const job of running.values()) await table.fail(job, "the worker stops");
  };
}

async function start(): Promise<() => Promise<void>> {
  if (variant === "broken-keeps-attempts") return keepAttempts();
  const worker = createWorker({
    table,
    concurrency,
    prefetch,
    drainSeconds,
    pollMs: 100,
    handlers: { work },
    onEvent: (event) => notes.record(event),
  });
  worker.start();
  if (variant === "broken-exit-at-once") return () => Promise.resolve();
  return () => worker.stop();
}

const stop = start();
process.on("SIGTERM", () => {
  void stop
    .then((each) => each())
    // Exit now: handlers that ignore their signal keep connections of the pool open.
    .then(() => process.exit(0));
});
announce(process.pid);
