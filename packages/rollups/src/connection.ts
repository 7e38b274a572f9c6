import {
  bounded,
  type Database,
  type Deadline,
  isPool,
  type Queryable,
  type TransactionOptions,
  withLentConnection,
  withTransaction,
} from "@svc/sql";
import type { Definition } from "./definition.ts";
import { RollupError } from "./errors.ts";

/** Returns the deadline for each statement of a call. */
export function command({ name, commandTimeoutMs }: Definition, operation: string): Deadline {
  return { operation: `${operation} of ${name}`, timeoutMs: commandTimeoutMs };
}

/** Returns the deadline for each statement of a call that reads large parts of the source. */
export function maintenance({ name, maintenanceTimeoutMs }: Definition, operation: string): Deadline {
  return { operation: `${operation} of ${name}`, timeoutMs: maintenanceTimeoutMs };
}

/** Runs `work` on the given connection, or on a connection of the given pool. */
export async function onConnection<T>(
  given: Database,
  deadline: Deadline,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  const db: Database = bounded(given, deadline);
  return isPool(db) ? withLentConnection(db, work) : work(db);
}

interface WithTenant {
  withTenant<T>(tenant: string, work: (tx: Queryable) => Promise<T>, options: TransactionOptions): Promise<T>;
}

/**
 * Runs `work` in a transaction of the tenant: through `withTenant()` of a `@svc/database`, or in a transaction that
 * sets the setting from which row security reads the tenant. On a single connection, the caller must have set the
 * tenant.
 *
 * @throws the error of `work`
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
  // Only `withTenant` may set the tenant on connections of a `@svc/database`.
  if (hasTenants(given)) return given.withTenant(tenant, (tx) => work(bounded(tx, deadline)), options);
  return withTransaction(db, work, { ...options, settings: { [setting]: tenant } });
}

function hasTenants(db: object): db is WithTenant {
  return typeof (db as Partial<WithTenant>).withTenant === "function";
}

/** Returns the caller's transaction with a deadline. @throws RollupError `ERR_SVC_ROLLUP_TRANSACTION` for other values */
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
    `${subject} needs the connection of an open transaction, for example from withTransaction(); a pool may run each statement on a different connection`,
  );
}

/**
 * Checks that the transaction is READ COMMITTED: in other isolation levels its snapshot may be older than the lock.
 * @throws RollupError `ERR_SVC_ROLLUP_TRANSACTION`
 */
export function checkReadCommitted<T extends { readonly isolation: string }>(
  answer: T | undefined,
): asserts answer is T {
  if (answer?.isolation === "read committed") return;
  throw new RollupError(
    "ERR_SVC_ROLLUP_TRANSACTION",
    `the transaction must be READ COMMITTED; it is ${String(answer?.isolation).toUpperCase()} and would miss rows committed while it waited for the lock`,
  );
}
