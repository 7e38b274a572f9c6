import { createJobTable, type JobTable, type Tasks } from "@svc/job-table";
import type { Pool } from "pg";

let tables = 0;

/** Creates a table with tasks for one test. */
export async function openTable<Queued extends object, Received extends object>(
  pool: Pool,
  tasks: Tasks<Queued, Received>,
): Promise<JobTable<Queued, Received>> {
  tables += 1;
  const table = createJobTable({ db: pool, name: `typed_${tables}`, tasks });
  await table.ensureSchema();
  return table;
}

export interface Stored {
  readonly id: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly status: string;
  readonly last_error: string | null;
}

/** Returns the rows of a table, earliest first. */
export async function storedIn(pool: Pool, { name }: { readonly name: string }): Promise<Stored[]> {
  const columns = "id, payload, attempts, status, last_error";
  return (await pool.query<Stored>(`select ${columns} from ${name} order by available_at, id`)).rows;
}
