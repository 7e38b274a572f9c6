import { createJobTable, type JobTable, type JobTableOptions } from "@svc/job-table";
import { Client, Pool } from "pg";

/** A pool with the job table of one test. */
export interface Bench extends AsyncDisposable {
  readonly pool: Pool;
  readonly table: JobTable;
  /** The rows of the table, oldest first. */
  rows(): Promise<JobRow[]>;
}

export interface JobRow {
  readonly id: string;
  readonly task: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly available_at: Date;
  readonly locked_until: Date | null;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly status: string;
  readonly last_error: string | null;
  readonly created_at: Date;
  readonly trace: unknown;
}

let tables = 0;

export async function openBench(url: string, options: Omit<JobTableOptions, "db"> = {}): Promise<Bench> {
  const pool = openPool(url);
  tables += 1;
  const table = createJobTable({ db: pool, name: `jobs_${tables}`, ...options });
  await table.ensureSchema();
  return {
    pool,
    table,
    rows: async () =>
      (await pool.query<JobRow>(`select * from ${table.name} order by available_at, id`)).rows,
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

export function openPool(url: string, max = 8): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

/** Opens a separate connection; disposing of it closes it and rolls its transaction back. */
export async function openClient(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** Expires every lease of a table. */
export async function expire({ pool, table }: Bench): Promise<void> {
  await pool.query(
    `update ${table.name} set locked_until = now() - interval '1 second' where status = 'running'`,
  );
}

/** Returns how many sessions of this database wait for an advisory lock; other databases share the server. */
export async function waiting(client: Client): Promise<number> {
  const { rowCount } = await client.query(
    `select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`,
  );
  return rowCount ?? 0;
}
