import { testDatabase, type TestDatabase } from "@svc/dev-services";
import pg from "pg";
import { createQueryTracer, type QueryTracerOptions } from "../../src/sql/trace-queries.ts";
import { type RecordedSpans, recordedSpans } from "./recorded-spans.ts";

/** A pool whose statements are traced. */
export interface Traced {
  readonly pool: pg.Pool;
  readonly spans: RecordedSpans;
  /** The errors that the tracing has reported. */
  readonly failures: readonly unknown[];
}

export interface TracedPools {
  readonly database: TestDatabase;
  /** Opens a pool of one connection, without tracing. */
  readonly plain: (options?: pg.PoolConfig) => pg.Pool;
  readonly traced: (options?: pg.PoolConfig, tracing?: Partial<QueryTracerOptions>) => Traced;
}

/** Gives a `describe` a database, and closes its pools after each test. */
export function tracedPools(name: string): TracedPools {
  const database = testDatabase({ name });
  const open: pg.Pool[] = [];
  const plain = (options: pg.PoolConfig = {}): pg.Pool => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1, ...options });
    pool.on("error", () => undefined);
    open.push(pool);
    return pool;
  };
  afterEach(() => Promise.all(open.splice(0).map((pool) => pool.end())));
  return {
    database,
    plain,
    traced(options, tracing = {}) {
      const pool = plain(options);
      const spans = recordedSpans();
      const failures: unknown[] = [];
      const logFailure = (error: unknown): void => void failures.push(error);
      createQueryTracer({ spans, recordStatement: false, logFailure, ...tracing })(pool);
      return { pool, spans, failures };
    },
  };
}
