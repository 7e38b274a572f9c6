import {
  bounded,
  type Database,
  type Deadline,
  isPool,
  lend,
  type Queryable,
  type TransactionOptions,
  withTransaction,
} from "@svc/sql";
import type { Definition } from "./definition.ts";
import { RollupError } from "./errors.ts";

/** How long each statement of a call may take. */
export function command({ name, commandTimeoutMs }: Definition, operation: string): Deadline {
  return { operation: `${operation} of ${name}`, timeoutMs: commandTimeoutMs };
}

/** The same for a call that reads the source as a whole. */
export function maintenance({ name, maintenanceTimeoutMs }: Definition, operation: string): Deadline {
  return { operation: `${operation} of ${name}`, timeoutMs: maintenanceTimeoutMs };
}

/** Runs on the connection that is given, or on one of the pool's. */
export async function onConnection<T>(
  given: Database,
  deadline: Deadline,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  const db: Database = bounded(given, deadline);
  if (!isPool(db)) return work(db);
  const connection = await lend(db);
  try {
    return await work(connection);
  } finally {
    connection.release();
  }
}

interface WithTenant {
  withTenant<T>(tenant: string, work: (tx: Queryable) => Promise<T>, options: TransactionOptions): Promise<T>;
}

/**
 * Runs in a transaction of the tenant: that of a `@svc/database`, else one with the setting that row security asks for. On a
 * single connection it is the caller's transaction, and the caller's tenant.
 *
 * @throws whatever `work` throws
 */
export async function asTenant<T>(
  given: Database,
  deadline: Deadline,
  { setting }: Definition,
  tenant: string | null,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const db: Database = bounded(given, deadline);
  if (!isPool(db)) return withTransaction(db, work);
  const options: TransactionOptions = { isolation: "read committed" };
  if (setting === undefined || tenant === null) return withTransaction(db, work, options);
  // It alone may set the tenant on its connections.
  if (hasTenants(given)) return given.withTenant(tenant, (tx) => work(bounded(tx, deadline)), options);
  return withTransaction(db, work, { ...options, settings: { [setting]: tenant } });
}

function hasTenants(db: object): db is WithTenant {
  return typeof (db as Partial<WithTenant>).withTenant === "function";
}

/** The transaction of a call, with its deadline. @throws RollupError `ERR_SVC_ROLLUP_TRANSACTION` for what can be no transaction */
export function inTransaction(definition: Definition, operation: string, tx: unknown): Queryable {
  checkConnection(operation, tx);
  return bounded(tx, command(definition, operation));
}

function checkConnection(subject: string, tx: unknown): asserts tx is Queryable {
  const isConnection =
    typeof tx === "object" && tx !== null && typeof (tx as Partial<Queryable>).query === "function";
  if (isConnection && !isPool(tx as Database)) return;
  throw new RollupError(
    "ERR_SVC_ROLLUP_TRANSACTION",
    `${subject} must be given the connection of a transaction, as withTransaction() hands it over: what is sent over a pool is part of none`,
  );
}

/** @throws RollupError `ERR_SVC_ROLLUP_TRANSACTION`: an older snapshot would be older than the lock */
export function checkReadCommitted<T extends { readonly isolation: string }>(
  answer: T | undefined,
): asserts answer is T {
  if (answer?.isolation === "read committed") return;
  throw new RollupError(
    "ERR_SVC_ROLLUP_TRANSACTION",
    `the transaction must be READ COMMITTED; it is ${String(answer?.isolation).toUpperCase()} and would add up rows as they were before the lock`,
  );
}
