import { testDatabase, type TestDatabase } from "@svc/dev-services";
import pg from "pg";
import { createQueryTracer, type QueryTracerOptions, type TracedPool } from "../../src/sql/trace-queries.ts";
import { type RecordedSpans, recordedSpans } from "./recorded-spans.ts";

/** The spans of a pool, and the errors that the tracing has reported. */
export interface Tracing {
  readonly spans: RecordedSpans;
  readonly failures: readonly unknown[];
  readonly traceQueries: (target: TracedPool) => void;
}

/** Returns a tracer that records spans in memory. */
export function createTracing(options: Partial<QueryTracerOptions> = {}): Tracing {
  const spans = recordedSpans();
  const failures: unknown[] = [];
  const logFailure = (error: unknown): void => void failures.push(error);
  const traceQueries = createQueryTracer({ spans, recordStatement: false, logFailure, ...options });
  return { spans, failures, traceQueries };
}

export interface TracedPools {
  readonly database: TestDatabase;
  /** Opens a pool of one connection, without tracing. */
  readonly plain: (options?: pg.PoolConfig) => pg.Pool;
  /** Opens a pool of one connection, whose statements are traced. */
  readonly traced: (options?: Partial<QueryTracerOptions>) => Tracing & { readonly pool: pg.Pool };
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
    traced(options) {
      const pool = plain();
      const tracing = createTracing(options);
      tracing.traceQueries(pool);
      return { ...tracing, pool };
    },
  };
}
