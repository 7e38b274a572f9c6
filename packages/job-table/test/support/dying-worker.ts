import { createJobTable, createWorker } from "@svc/job-table";
import { Pool } from "pg";

// A worker in a child process, which is killed while its handlers run.
const [url = "", name = "", prefetch = "0"] = process.argv.slice(2);
const pool = new Pool({ connectionString: url });
const table = createJobTable({ db: pool, name });
createWorker({
  table,
  concurrency: 3,
  prefetch: Number(prefetch),
  handlers: {
    async a(_payload, { id }) {
      await pool.query("insert into starts (job, pid) values ($1, pg_backend_pid())", [id]);
      process.stdout.write("started\n");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    },
  },
}).start();
