import { Pool } from "pg";
import { createJobTable } from "../../src/job-table.ts";

// Without the workers, the plugin and the page of `@svc/job-table`, because a test starts this program sixteen times.
// Creates the table as a starting service does, once the test releases the lock for which all processes wait.
const [url = "", name = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 1 });
await pool.query("select pg_advisory_lock_shared(5)");
const made = await createJobTable({ db: pool, name }).ensureSchema();
process.stdout.write(made);
await pool.end();
