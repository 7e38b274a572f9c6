import { createJobTable } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { workOff } from "./claims.ts";

/** The bytes of a table and of its indexes. */
export interface Sizes {
  readonly table: number;
  readonly indexes: number;
}

/** The sizes of a table after `jobs` jobs were queued, after they were drained, and after a vacuum. */
export interface Filling {
  readonly filled: Sizes;
  readonly drained: Sizes;
  /** The sizes after an autovacuum, or after the wait for one. */
  readonly vacuumed: Sizes;
  readonly perSecond: number;
}

export interface Growth {
  readonly jobs: number;
  readonly fillings: readonly Filling[];
}

const NAP_MS = 150_000;

/** Queues and drains `jobs` jobs several times. Only autovacuum removes dead rows. */
export async function measureGrowth(url: string, jobs: number, times: number): Promise<Growth> {
  const pool = new pg.Pool({ connectionString: url });
  const name = "growth";
  const table = createJobTable({ db: pool, name });
  await table.ensureSchema();

  async function sizes(): Promise<Sizes> {
    const { rows } = await pool.query<Record<keyof Sizes, string>>(
      "select pg_table_size($1::regclass) as table, pg_indexes_size($1::regclass) as indexes",
      [name],
    );
    return { table: Number(rows[0]?.table), indexes: Number(rows[0]?.indexes) };
  }
  async function put(): Promise<Sizes> {
    await pool.query(
      `insert into ${name} (id, task) select md5(n::text || random()), 'work' from generate_series(1, ${jobs}) as n`,
    );
    return sizes();
  }
  async function vacuums(): Promise<number> {
    const { rows } = await pool.query<{ count: string }>(
      "select autovacuum_count as count from pg_stat_user_tables where relname = $1",
      [name],
    );
    return Number(rows[0]?.count);
  }

  async function fill(): Promise<Filling> {
    const filled = await put();
    const begun = performance.now();
    await workOff(table, 50, jobs, 450);
    const perSecond = (jobs / (performance.now() - begun)) * 1000;
    const drained = await sizes();
    const before = await vacuums();
    // Wait for another autovacuum: one that ran during the drain has not removed all dead rows.
    const end = performance.now() + NAP_MS;
    while ((await vacuums()) === before && performance.now() < end) await delay(500);
    return { filled, drained, vacuumed: await sizes(), perSecond };
  }

  const fillings: Filling[] = [];
  while (fillings.length < times) fillings.push(await fill());
  await pool.end();
  return { jobs, fillings };
}
