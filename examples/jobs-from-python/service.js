// Queues a report for the consumer in Python, and sends the mail that the consumer queues. It uses two tables, because
// a worker claims every row of its table.
import { createJobTable, createWorker } from "@svc/job-table";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// Without a listener, the error of a broken idle connection would end the process.
pool.on("error", () => undefined);
const reportJobs = createJobTable({ db: pool, name: "report_jobs" });
const mailJobs = createJobTable({ db: pool, name: "mail_jobs" });
await reportJobs.ensureSchema();
await mailJobs.ensureSchema();
await pool.query(`create table if not exists reports (
  id text primary key,
  tenant_id text not null default current_setting('svc.tenant'),
  title text not null,
  body text not null
)`);

const { promise: sent, resolve } = Promise.withResolvers();
const worker = createWorker({
  table: mailJobs,
  handlers: {
    async "mail.send"({ to, about }, { tenantId, requestId }) {
      console.log(`mail to ${to} of ${tenantId}: ${about} (request ${requestId})`);
      resolve();
    },
  },
});
worker.start();

// In a service with @svc/request-id and @svc/tenancy these three come from the current request.
const { id } = await reportJobs.enqueue({
  task: "report.render",
  payload: { title: "March", lines: ["meals 12.50", "travel 80.00"], to: "ann" },
  requestId: "4bf92f3577b34da6a3ce929d0e0e4736",
  tenantId: "harbour-cafe",
  trace: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
});
await sent;
await worker.stop();
const { rows } = await pool.query("select tenant_id, title, body from reports where id = $1", [id]);
console.log(rows[0]);
await pool.end();
