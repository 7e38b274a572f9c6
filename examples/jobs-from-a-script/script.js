// Queues a batch of jobs and runs them: only a table and a pool are needed, no HTTP server.
import { setTimeout as pause } from "node:timers/promises";
import { createJobTable, createWorker } from "@svc/job-table";
import pg from "pg";
import handlers from "./handlers.js";

const books = [
  { id: "emma", title: "Emma", pages: 474 },
  { id: "moby-dick", title: "Moby Dick", pages: 427 },
  { id: "persuasion", title: "Persuasion", pages: 249 },
  { id: "war-and-peace", title: "War and Peace", pages: 1225 },
];

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// Without a listener, the error of a broken idle connection would end the process.
pool.on("error", () => undefined);
const table = createJobTable({ db: pool, name: "print_jobs" });
await table.ensureSchema();

// One statement for the whole batch. A job whose id is in the table already is not queued again.
const queued = await table.enqueueMany(
  books.map(({ id, ...payload }) => ({ id, task: "book.print", payload, maxAttempts: 2 })),
);
for (const { id, enqueued } of queued) if (!enqueued) console.log(`${id} was queued before`);

const worker = createWorker({
  table,
  handlers,
  concurrency: 2,
  onEvent({ type, job, error }) {
    if (type === "failed") console.log(`${job.id}: ${error.message}; will be tried again`);
    if (type === "dead") console.log(`${job.id}: ${error.message}; given up after ${job.attempts} attempts`);
    if (type === "fault") console.error(`the database: ${error.message}`);
  },
});
worker.start();

// Wait until all jobs are printed or dead: a failed job is pending again two seconds later.
let stats;
do {
  await pause(100);
  stats = await table.stats();
} while (stats.pending + stats.running > 0);
await worker.stop();
console.log(stats);
await pool.end();
