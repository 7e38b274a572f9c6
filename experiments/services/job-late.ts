import { createJobTable, createWorker } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { openNotes } from "../harness/job-notes.ts";
import { announce, settingsOfParent } from "../harness/within-service.ts";

export interface LateSettings {
  readonly url: string;
  readonly name: string;
  readonly visibilitySeconds: number;
  readonly concurrency: number;
  readonly notes: string;
  readonly variant: string;
}

/** The outcome of a job of the task `late`, and its delay in milliseconds. */
export interface LatePayload {
  readonly ms: number;
  readonly ends: "done" | "failed" | "stopped";
}

const { url, name, visibilitySeconds, concurrency, notes: file, variant } = settingsOfParent<LateSettings>();
const pool = new Pool({ connectionString: url, max: 4 });
pool.on("error", () => undefined);
const table = createJobTable({ db: pool, name, visibilityTimeoutSeconds: visibilitySeconds });
const notes = openNotes(file);

const worker = createWorker({
  table,
  concurrency,
  pollMs: 100,
  drainSeconds: 0,
  onEvent: (event) => notes.record(event),
  handlers: {
    async late({ ms, ends }: LatePayload, job) {
      notes.write("start", job);
      if (ends === "stopped") await new Promise(() => undefined);
      await delay(ms);
      if (ends === "failed") throw new Error("too late");
    },
    killer(_payload, job) {
      notes.write("start", job);
      // Jobs with an odd number exit the process, the others kill it.
      if (Number(job.id.at(-1)) % 2 === 1) process.exit(0);
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    },
    async good(_payload, job) {
      notes.write("start", job);
      await pool.query(`insert into ${name}_effects (job) values ($1)`, [job.id]);
    },
  },
});
process.on("SIGTERM", () => {
  void worker.stop().then(() => process.exit(0));
});

/** Claims as the job table does, but without the limit on attempts: a job that killed its worker is claimed again. */
async function claimForEver(): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ id: string; task: string; attempts: number }>(
      `update ${name} set status = 'running', attempts = attempts + 1, locked_until = now() + $1 * interval '1 second'
       where id = (select id from ${name} where status = 'pending' or (status = 'running' and locked_until < now())
         order by available_at limit 1 for update skip locked)
       returning id, task, attempts`,
      [visibilitySeconds],
    );
    const [job] = rows;
    if (job === undefined) {
      await delay(50);
      continue;
    }
    notes.write("start", job);
    if (job.task === "killer") process.kill(process.pid, "SIGKILL");
    await pool.query(`insert into ${name}_effects (job) values ($1)`, [job.id]);
    await pool.query(`delete from ${name} where id = $1`, [job.id]);
  }
}

if (variant === "broken-for-ever") void claimForEver();
else worker.start();
announce(process.pid);
