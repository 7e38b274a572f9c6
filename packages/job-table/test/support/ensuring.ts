import { Pool } from "pg";
import { createJobTable } from "../../src/job-table.ts";

// Creates the table as a starting service does, once the test releases the lock for which all processes wait. Imports only
// the table, not the workers, the plugin and the page, because a test starts this program sixteen times.
const [url = "", name = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 1 });
await pool.query("select pg_advisory_lock_shared(5)");
const made = await createJobTable({ db: pool, name }).ensureSchema();
process.stdout.write(made);
await pool.end();
