import type { ReadinessCheck } from "@svc/context";
import { namesOf } from "@svc/options";
import {
  atMostEvery,
  type BreakerChange,
  BreakerOpenError,
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
import { type ClientBase, Pool, type PoolClient } from "pg";
import { clientConfig } from "./client-config.ts";
import { cut, type Guard, guardedClient } from "./guarded-client.ts";
import { lend, type LentConnection } from "./lent-connection.ts";
import { type DatabaseOptions, databaseOptions } from "./options.ts";
import { exhausted, notAnswering } from "./problems.ts";
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
   * open transaction, or if one of its statements named the tenant setting. A statement that sets this setting throws a
   * `TenantError`, here and in `query` and `transaction`.
   *
   * @throws ProblemError 503
   */
  connect(): Promise<LentConnection>;
  /** The pool itself, for data mappers. It has the same deadlines, but throws the errors from `pg`. */
  readonly pool: Pool;
  /** Returns the check for `/ready`, always the same object. */
  readiness(): ReadinessCheck;
  /** Closes all connections. Connections that are still in use after `stopTimeoutMs` are cut. Never rejects. */
  stop(): Promise<void>;
}

const WARN_EVERY_MS = 5000;

/**
 * Creates a pool that connects on first use, so it does not throw when the database is down.
 *
 * @throws ConfigurationError
 */
export function createDatabase(given: DatabaseOptions): Database {
  const resolved = databaseOptions.resolve(given);
  const client = clientConfig(resolved, namesOf(given, databaseOptions.subject));
  // A logger that throws must not break a connection handler or a readiness check.
  const logger = safeLogger(resolved.logger);
  const options = { ...resolved, client, logger };
  const { name, max, stopTimeoutMs, breakerCoolDownMs, tenantSetting } = options;

  const breaker = createBreaker({
    failures: options.breakerFailures,
    coolDownMs: breakerCoolDownMs,
    now: options.now,
    onChange: tell,
  });
  const guard: Guard = {
    breaker,
    connectTimeoutMs: options.connectTimeoutMs,
    generation: 0,
    connecting: 0,
    open: new Set<ClientBase>(),
    madeIn: new WeakMap<ClientBase, number>(),
  };
  const pool = new Pool({
    ...client,
    max,
    Client: guardedClient(guard),
    connectionTimeoutMillis: options.acquireTimeoutMs,
    idleTimeoutMillis: options.idleTimeoutMs,
  });
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
  pool.on("error", (error) => void warn(error));

  let rowSecurity = options.rowSecurity ?? false;
  const probe = createProbe(options, guard.open, {
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

  function onStuck(): void {
    // Retire all existing connections, because they lead to the same hung server.
    guard.generation += 1;
    breaker.attempt()?.failed();
  }

  function connect(): Promise<LentConnection> {
    return connectWith(watch);
  }

  async function connectWith(watching?: Watch): Promise<LentConnection> {
    for (;;) {
      const client = await lendable();
      if (guard.madeIn.get(client) === guard.generation) {
        return lend(client, onStuck, watching);
      }
      client.release(true);
      cut(client);
    }
  }

  async function lendable(): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      if (error instanceof BreakerOpenError) throw notAnswering(error, error.retryAfterMs);
      // Count all connections in use, including those that callers took from `pool` directly, but not those that are
      // still being opened.
      const inUse = pool.totalCount - pool.idleCount - guard.connecting;
      throw inUse >= max ? exhausted(error) : notAnswering(error, breaker.retryAfterMs);
    }
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
    try {
      await withDeadline(stopTimeoutMs, async () => {
        await pool.end();
        await Promise.all(
          [...guard.open].map((client) => new Promise((resolve) => client.once("end", resolve))),
        );
      });
    } catch (error) {
      const reason = error instanceof DeadlineError ? "still in use at the deadline" : safeErrorText(error);
      logger?.warn({ database: name, reason, connections: guard.open.size }, "database connections were cut");
      for (const client of guard.open) cut(client);
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
