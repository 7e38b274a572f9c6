import { createInbox } from "@svc/events";
import { createJobTable, createWorker, type JobHandler } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { openNotes } from "../harness/job-notes.ts";
import { announce, settingsOfParent } from "../harness/within-service.ts";
import { workBadly } from "./broken-workers.ts";

export interface KilledSettings {
  readonly url: string;
  readonly visibilitySeconds: number;
  /** Where starts and ends are noted. */
  readonly notes: string;
  /** The longest time of a handler. */
  readonly longestMs: number;
  readonly variant: string;
}

const { url, visibilitySeconds, notes: file, longestMs, variant } = settingsOfParent<KilledSettings>();
const pool = new Pool({ connectionString: url, max: 8 });
pool.on("error", () => undefined);
const table = createJobTable({ db: pool, visibilityTimeoutSeconds: visibilitySeconds });
const notes = openNotes(file);
const inbox = createInbox();
const effectSql = "insert into svc_jobs_effects (job) values ($1)";

const share: Readonly<Record<string, number>> = { "broken-no-inbox": 0, "broken-ack-first": longestMs };

const work: JobHandler = async (_payload, job) => {
  notes.write("start", job);
  // Variants are killed where it hurts.
  const beforeMs = share[variant] ?? Math.random() * longestMs;
  const afterMs = Math.random() * (longestMs - beforeMs);
  await delay(beforeMs);
  if (variant === "broken-no-inbox") await pool.query(effectSql, [job.id]);
  else {
    await withTransaction(pool, async (tx) => {
      await inbox.once(tx, "work", job.id, () => tx.query(effectSql, [job.id]));
    });
  }
  await delay(afterMs);
};

if (variant === "broken-ack-first" || variant === "broken-read-then-write") {
  workBadly(variant, { pool, table, notes, handler: work });
} else {
  // Prefetch and concurrency as they are where nobody says otherwise.
  createWorker({ table, handlers: { work }, onEvent: (event) => notes.tell(event) }).start();
}
announce(process.pid);
