import { createJobTable } from "@svc/job-table";
import { Pool } from "pg";

// Creates the table as a starting service does, once the test releases the lock for which all processes wait.
const [url = "", name = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 1 });
await pool.query("select pg_advisory_lock_shared(5)");
const made = await createJobTable({ db: pool, name }).ensureSchema();
process.stdout.write(made);
await pool.end();
