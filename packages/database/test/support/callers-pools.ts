import { createDatabase, type Database, type DatabaseOptions } from "@svc/database";
import { testDatabase, type TestDatabase } from "@svc/dev-services";
import { Pool, type PoolConfig } from "pg";
import { PATIENT } from "./patient.ts";

const { connectTimeoutMs: _, ...deadlines } = PATIENT;

/** Patient deadlines for `createDatabase({ pool })`, which has no connect timeout of its own. */
export const DEADLINES = deadlines;

/** Provides a `describe` with a database and with pools of a caller, which are ended after each test. */
export function callersPools(name: string): {
  readonly postgres: TestDatabase;
  readonly poolOf: (config?: PoolConfig) => Pool;
  readonly guarded: (pool: Pool, options?: Partial<DatabaseOptions>) => Database;
} {
  const postgres = testDatabase({ name });
  const pools: Pool[] = [];
  afterEach(async () => {
    for (const pool of pools.splice(0)) if (!pool.ending) await pool.end();
  });
  return {
    postgres,
    poolOf(config) {
      const pool = new Pool({ connectionString: postgres.url, ...config });
      pools.push(pool);
      return pool;
    },
    guarded: (pool, options) => createDatabase({ pool, ...DEADLINES, ...options }),
  };
}

/** Returns the result of a database's readiness check. */
export async function ask(database: Database): Promise<object> {
  return database.readiness().check(new AbortController().signal);
}
