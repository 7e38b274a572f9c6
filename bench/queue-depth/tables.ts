import { setTimeout } from "node:timers/promises";
import { createJobTable, type JobTable } from "@svc/job-table";
import pg from "pg";
import type { State } from "./states.ts";
import { workOff } from "./claims.ts";

/** The table of one state, ready for claims. */
export interface Filled extends AsyncDisposable {
  readonly state: State;
  readonly pool: pg.Pool;
  readonly table: JobTable;
}

const BATCH = 1000;
const SHORT_LEASE_SECONDS = 5;

/** Makes the table of a state with its rows. */
export async function fill(url: string, state: State): Promise<Filled> {
  const pool = new pg.Pool({ connectionString: url });
  pool.on("error", () => undefined);
  const name = `depth_${state.name.replaceAll(/\W/g, "_")}`;
  const table = createJobTable({ db: pool, name });
  await table.ensureSchema();
  if (state.rows > 0) {
    const [status, availableAt, lockedUntil] = state.row;
    await pool.query(
      `insert into ${name} (id, task, status, available_at, locked_until, attempts)
       select 'row-' || n, 'work', ${status}, ${availableAt}, ${lockedUntil}, 0 from generate_series(1, ${state.rows}) as n`,
    );
  }
  await pool.query(`vacuum analyze ${name}`);
  const snapshot = state.heldFor === undefined ? undefined : await holdSnapshot(url, name);
  const isShort = state.isLeaseOver === true;
  const worked = isShort
    ? createJobTable({ db: pool, name, visibilityTimeoutSeconds: SHORT_LEASE_SECONDS })
    : table;
  for (let left = state.heldFor ?? 0; left > 0; left -= BATCH) {
    const jobs = Math.min(left, BATCH);
    await worked.enqueueMany(Array.from({ length: jobs }, () => ({ task: "work" })));
    await workOff(worked, 50, jobs);
  }
  if (isShort) await setTimeout(SHORT_LEASE_SECONDS * 1000);
  return {
    state,
    pool,
    table,
    async [Symbol.asyncDispose]() {
      await snapshot?.end();
      await pool.end();
    },
  };
}

/** Opens a transaction and keeps it open, so that no vacuum removes a row that was visible at its start. */
async function holdSnapshot(url: string, table: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin isolation level repeatable read");
  await client.query(`select count(*) from ${table}`);
  return client;
}
