import { createJobTable } from "@svc/job-table";
import pg from "pg";
import { workOff } from "./claims.ts";

/** Bytes of a table and of its indexes. */
export interface Sizes {
  readonly table: number;
  readonly indexes: number;
}

export interface Growth {
  readonly jobs: number;
  readonly filled: Sizes;
  readonly drained: Sizes;
  /** After once more as many jobs. */
  readonly again: Sizes;
  readonly perSecond: number;
}

/** Drains so many jobs, twice, and says what is left of the table each time. Nothing but autovacuum clears it. */
export async function measureGrowth(url: string, jobs: number): Promise<Growth> {
  const pool = new pg.Pool({ connectionString: url });
  const name = "growth";
  const table = createJobTable({ db: pool, name });
  await table.ensureSchema();
  const sizes = async (): Promise<Sizes> => {
    const { rows } = await pool.query<Record<keyof Sizes, string>>(
      "select pg_table_size($1::regclass) as table, pg_indexes_size($1::regclass) as indexes",
      [name],
    );
    return { table: Number(rows[0]?.table), indexes: Number(rows[0]?.indexes) };
  };
  const put = async (): Promise<void> => {
    await pool.query(
      `insert into ${name} (id, task) select md5(n::text || random()), 'work' from generate_series(1, ${jobs}) as n`,
    );
  };
  await put();
  const filled = await sizes();
  const begun = performance.now();
  await workOff(table, 50, jobs, 450);
  const perSecond = (jobs / (performance.now() - begun)) * 1000;
  const drained = await sizes();
  await put();
  await workOff(table, 50, jobs, 450);
  const again = await sizes();
  await pool.end();
  return { jobs, filled, drained, again, perSecond };
}
