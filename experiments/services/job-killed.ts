import { createInbox } from "@svc/events";
import { createJobTable, createWorker, type JobContext, type JobHandler } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { openNotes } from "../harness/job-notes.ts";
import { announce, settingsOfParent } from "../harness/within-service.ts";
import { workBadly } from "./broken-workers.ts";

export type Moment = "before" | "after";

export interface KilledSettings {
  readonly url: string;
  readonly visibilitySeconds: number;
  /** The file for the worker's notes. */
  readonly notes: string;
  /** The longest duration of a handler in milliseconds. */
  readonly longestMs: number;
  readonly variant: string;
  /** Whether a handler waits for the kill of its worker before or after its effect; undefined: it does not wait. */
  readonly staysAt?: Moment | undefined;
}

const {
  url,
  visibilitySeconds,
  notes: file,
  longestMs,
  variant,
  staysAt,
} = settingsOfParent<KilledSettings>();
const pool = new Pool({ connectionString: url, max: 8 });
pool.on("error", () => undefined);
const table = createJobTable({ db: pool, visibilityTimeoutSeconds: visibilitySeconds });
const notes = openNotes(file);
const inbox = createInbox();
const effectSql = "insert into svc_jobs_effects (job) values ($1)";

const stayAt = async (moment: Moment, job: JobContext): Promise<void> => {
  if (moment !== staysAt) return;
  notes.write("exposed", job);
  await new Promise<never>(() => undefined);
};

const work: JobHandler = async (_payload, job) => {
  notes.write("start", job);
  const beforeMs = Math.random() * longestMs;
  const afterMs = Math.random() * (longestMs - beforeMs);
  await delay(beforeMs);
  await stayAt("before", job);
  if (variant === "broken-no-inbox") await pool.query(effectSql, [job.id]);
  else {
    await withTransaction(pool, async (tx) => {
      await inbox.once(tx, "work", job.id, () => tx.query(effectSql, [job.id]));
    });
  }
  await stayAt("after", job);
  await delay(afterMs);
};

if (variant === "broken-ack-first" || variant === "broken-read-then-write") {
  workBadly(variant, { pool, table, notes, handler: work });
} else {
  // Use the default prefetch and concurrency.
  createWorker({ table, handlers: { work }, onEvent: (event) => notes.record(event) }).start();
}
announce(process.pid);
