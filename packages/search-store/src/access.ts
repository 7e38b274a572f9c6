import {
  bounded,
  type Database,
  isPool,
  type Queryable,
  type QueryResult,
  type Row,
  type SchemaTimeouts,
  withLentConnection,
  withTransaction,
} from "@svc/sql";
import type { ResolvedOptions } from "./options.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Access = Pick<ResolvedOptions, "db" | "rowSecurity" | "deadline">;

/** Returns the options of one call, with `commandTimeoutMs` as the deadline of its statements. */
export function command(options: ResolvedOptions, operation: string): ResolvedOptions {
  return within(options, operation, options.commandTimeoutMs);
}

/**
 * Returns the options of one call that may affect many rows or an index, with `maintenanceTimeoutMs` as the deadline.
 */
export function maintenance(options: ResolvedOptions, operation: string): ResolvedOptions {
  return within(options, operation, options.maintenanceTimeoutMs);
}

/** Returns the time limits for creating the schema. */
export function schemaTimeouts({
  db,
  commandTimeoutMs,
  maintenanceTimeoutMs,
}: ResolvedOptions): SchemaTimeouts {
  if (isEmbedded(db)) return { commandTimeoutMs: LONGEST_TIMER_MS, maintenanceTimeoutMs: LONGEST_TIMER_MS };
  return { commandTimeoutMs, maintenanceTimeoutMs };
}

function within(options: ResolvedOptions, operation: string, timeoutMs: number): ResolvedOptions {
  // No deadline: the embedded database runs in this thread, so a timer could not interrupt it.
  if (isEmbedded(options.db)) return options;
  const deadline = { operation: `${operation} of ${options.table}`, timeoutMs };
  return { ...options, db: bounded(options.db, deadline), deadline };
}

/** Returns whether a database runs in this process. */
export function isEmbedded(db: Database): boolean {
  return "embedded" in db && db.embedded === true;
}

/**
 * Runs one statement for a tenant; with row security, in a transaction that sets the tenant on the server. The
 * statement must have its own condition on the tenant in both cases (SEARCH-1).
 */
export function queryAs<R extends Row>(
  access: Access,
  tenant: string,
  text: string,
  values: unknown[],
): Promise<QueryResult<R>> {
  if (access.rowSecurity === undefined) return query<R>(access.db, text, values);
  return transactionAs(access, tenant, (tx) => tx.query<R>(text, values));
}

/** Runs several statements for a tenant, in one transaction. */
export function transactionAs<T>(
  { db, rowSecurity, deadline }: Access,
  tenant: string,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  if (rowSecurity === undefined) return withTransaction(db, work);
  if (namesTenants(db)) {
    return db.withTenant(tenant, (tx) => work(deadline === undefined ? tx : bounded(tx, deadline)));
  }
  return withTransaction(db, work, { settings: { [rowSecurity.setting]: tenant } });
}

interface NamesTenants {
  withTenant<T>(tenant: string, work: (tx: Queryable) => Promise<T>): Promise<T>;
}

/** Returns whether only the database itself may set a transaction's tenant, as in `@svc/database`. */
export function namesTenants(db: Database): db is Database & NamesTenants {
  return "withTenant" in db && typeof db.withTenant === "function";
}

/** Runs one statement without a tenant: on the catalogue, or to create or drop an index. */
export async function query<R extends Row>(
  db: Database,
  text: string,
  values?: unknown[],
): Promise<QueryResult<R>> {
  if (!isPool(db)) return db.query<R>(text, values);
  return withLentConnection(db, async (connection, onBroken) => {
    try {
      return await connection.query<R>(text, values);
    } catch (error) {
      // A server error has a code; after any other error the connection may be unusable.
      if (typeof (error as { code?: unknown }).code !== "string") onBroken(error as Error);
      throw error;
    }
  });
}
