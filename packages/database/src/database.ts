import type { ReadinessCheck } from "@svc/context";
import { namesOf } from "@svc/options";
import {
  atMostEvery,
  type BreakerChange,
  createBreaker,
  DeadlineError,
  safeLogger,
  withDeadline,
} from "@svc/resilience";
import {
  type Connectable,
  type Queryable,
  type QueryResult,
  type Row,
  safeErrorText,
  type TransactionOptions,
  withTransaction,
} from "@svc/sql";
import type { Pool } from "pg";
import { guardPool } from "./callers-pool.ts";
import { cut } from "./guarded-client.ts";
import { lend, type LentConnection } from "./lent-connection.ts";
import { type DatabaseOptions, databaseOptions, resolveDatabase } from "./options.ts";
import { openPool } from "./own-pool.ts";
import { createProbe } from "./readiness.ts";
import { createWatch, createWithTenant, type Watch } from "./tenant.ts";

/**
 * A connection pool on which every wait has a deadline. Works with `withTransaction` and `ensureSchema` from
 * `@svc/sql`, and with every package that accepts a `Queryable` or `Connectable`.
 */
export interface Database extends Queryable, Connectable, AsyncDisposable {
  /**
   * Runs one statement on any connection.
   *
   * @throws ProblemError 503 with `Retry-After` when no connection is available, when the connection is lost, or when
   *   the statement takes too long; all other server errors unchanged from `pg`
   */
  query<R extends Row = Row>(text: string, values?: unknown[]): Promise<QueryResult<R>>;
  /**
   * Runs `work` in a transaction: commits when it returns, rolls back when it throws.
   *
   * @throws the same errors as `query`, and errors thrown by `work`
   */
  transaction<T>(work: (tx: Queryable) => T | Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Runs `work` in a tenant's transaction: in tables with row security it sees and writes only that tenant's rows, even
   * if a statement has no condition on the tenant. However the transaction ends, the tenant is unset afterwards. Takes
   * no more round trips than `transaction`.
   *
   * @throws TenantError for a tenant that `isTenantId()` from `@svc/context` rejects, and inside another `withTenant`
   *   on the same database; otherwise the same errors as `transaction`
   */
  withTenant<T>(
    tenant: string,
    work: (tx: Queryable) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /**
   * Lends a connection; return it with `release()`. A connection is closed instead of reused if it is returned with an
   * open transaction or an unanswered statement, or if one of its statements named the tenant setting. A statement that sets
   * this setting throws a `TenantError`, here and in `query` and `transaction`.
   *
   * @throws ProblemError 503
   */
  connect(): Promise<LentConnection>;
  /**
   * The pool itself, for data mappers. It has the same deadlines, but throws the errors from `pg`. The caller's pool has only
   * its own deadlines.
   */
  readonly pool: Pool;
  /** Returns the check for `/ready`, always the same object. */
  readiness(): ReadinessCheck;
  /**
   * Closes all connections, or waits until those that it lent from the caller's pool are returned. Connections that are still
   * in use after `stopTimeoutMs` are cut. Never rejects.
   */
  stop(): Promise<void>;
}

const WARN_EVERY_MS = 5000;

/**
 * Creates a pool that connects on first use, or guards the caller's pool. Does not throw when the database is down.
 *
 * @throws ConfigurationError
 */
export function createDatabase(given: DatabaseOptions): Database {
  const resolved = resolveDatabase(given);
  // A logger that throws must not break a connection handler or a readiness check.
  const logger = safeLogger(resolved.logger);
  const { name, statementTimeoutMs, stopTimeoutMs, breakerCoolDownMs, tenantSetting } = resolved;

  const breaker = createBreaker({
    failures: resolved.breakerFailures,
    coolDownMs: breakerCoolDownMs,
    now: resolved.now,
    onChange: tell,
  });
  const source =
    resolved.pool === undefined
      ? openPool(resolved, namesOf(given, databaseOptions.subject), breaker)
      : guardPool(resolved, resolved.pool, breaker);
  const { pool, max, open, isLimited, onStuck } = source;
  const options = { ...resolved, logger };
  const warn = atMostEvery(
    WARN_EVERY_MS,
    (suppressed, error: unknown) =>
      logger?.warn(
        { database: name, reason: safeErrorText(error), suppressed },
        "a database connection broke",
      ),
    { now: options.now },
  );
  // Without a listener, an error on an idle connection would end the process.
  const onError = (error: Error): void => void warn(error);
  pool.on("error", onError);

  let rowSecurity = options.rowSecurity ?? false;
  const probe = createProbe(options, source, {
    rowSecurity: () => rowSecurity,
    meta: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount, max }),
  });
  const watch = createWatch(tenantSetting);
  let stopping: Promise<void> | undefined;

  function tell({ from, to, failures }: BreakerChange): void {
    if (from === "closed") {
      const fields = { database: name, failures, cool_down_ms: breakerCoolDownMs };
      logger?.error(fields, "the database is not answering; connection attempts are paused");
    } else if (to === "closed") logger?.info({ database: name }, "the database is answering again");
  }

  function connect(): Promise<LentConnection> {
    return connectWith(watch);
  }

  async function connectWith(watching?: Watch): Promise<LentConnection> {
    return lend(await source.connect(), { onStuck, watch: watching, statementTimeoutMs, isLimited });
  }

  async function query<R extends Row = Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
    const connection = await connect();
    try {
      return await connection.query<R>(text, values);
    } finally {
      connection.release();
    }
  }

  async function close(): Promise<void> {
    probe.close();
    const closing = source.close();
    try {
      await withDeadline(stopTimeoutMs, () => closing);
      source.detach(onError);
    } catch (error) {
      const reason = error instanceof DeadlineError ? "still in use at the deadline" : safeErrorText(error);
      logger?.warn({ database: name, reason, connections: open.size }, "database connections were cut");
      const closed = Promise.allSettled([closing, ...[...open].map(cut)]);
      // The connections cause errors on the pool when they close.
      void closed.then(() => setImmediate(() => source.detach(onError)));
    }
  }

  // Omit the watch, because withTenant() itself sets and resets the tenant.
  const inTenant = createWithTenant({ connect: () => connectWith() }, tenantSetting);

  const database: Database = {
    query,
    connect,
    withTenant(tenant, work, transactionOptions) {
      rowSecurity ||= options.rowSecurity !== false;
      return inTenant(tenant, work, transactionOptions);
    },
    transaction: (work, transactionOptions) => withTransaction({ connect }, work, transactionOptions),
    pool,
    readiness: () => probe.check,
    stop: () => (stopping ??= close()),
    [Symbol.asyncDispose]: () => database.stop(),
  };
  return database;
}
