import {
  bounded,
  type Database,
  isPool,
  lend,
  type Queryable,
  type QueryResult,
  type Row,
  type SchemaTimeouts,
  withTransaction,
} from "@svc/sql";
import type { ResolvedOptions } from "./options.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

type Access = Pick<ResolvedOptions, "db" | "rowSecurity" | "deadline">;

/** The options of one call whose statements are short. */
export function command(options: ResolvedOptions, operation: string): ResolvedOptions {
  return within(options, operation, options.commandTimeoutMs);
}

/** Those of one call that may have to do with many rows or an index. */
export function maintenance(options: ResolvedOptions, operation: string): ResolvedOptions {
  return within(options, operation, options.maintenanceTimeoutMs);
}

/** The same for a schema. */
export function schemaTimeouts({
  db,
  commandTimeoutMs,
  maintenanceTimeoutMs,
}: ResolvedOptions): SchemaTimeouts {
  if (isEmbedded(db)) return { commandTimeoutMs: LONGEST_TIMER_MS, maintenanceTimeoutMs: LONGEST_TIMER_MS };
  return { commandTimeoutMs, maintenanceTimeoutMs };
}

function within(options: ResolvedOptions, operation: string, timeoutMs: number): ResolvedOptions {
  // It works in this thread: it cannot hang while a timer runs.
  if (isEmbedded(options.db)) return options;
  const deadline = { operation: `${operation} of ${options.table}`, timeoutMs };
  return { ...options, db: bounded(options.db, deadline), deadline };
}

/** Whether a database runs in this process. */
export function isEmbedded(db: Database): boolean {
  return "embedded" in db && db.embedded === true;
}

/**
 * One statement inside a tenant. With row security it is in a transaction that names the tenant to the server; `tenant` goes
 * into the statement's own condition all the same, which is the caller's to write (SEARCH-1).
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

/** Several statements inside a tenant, in one transaction. */
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

/** Whether a database names the tenant of a transaction by itself, as that of `@svc/database` does, and lets nobody else do it. */
export function namesTenants(db: Database): db is Database & NamesTenants {
  return "withTenant" in db && typeof db.withTenant === "function";
}

/** One statement that is about no tenant's rows: of the catalogue, or one that makes or drops an index. */
export async function query<R extends Row>(
  db: Database,
  text: string,
  values?: unknown[],
): Promise<QueryResult<R>> {
  return onConnection(db, (connection) => connection.query<R>(text, values));
}

/** Several statements on one connection, outside of a transaction. */
export async function onConnection<T>(db: Database, work: (connection: Queryable) => Promise<T>): Promise<T> {
  if (!isPool(db)) return work(db);
  const connection = await lend(db);
  let broken: Error | undefined;
  try {
    return await work(connection);
  } catch (error) {
    // A statement that the server refused has a code; after anything else the connection may be of no use.
    if (typeof (error as { code?: unknown }).code !== "string") broken = error as Error;
    throw error;
  } finally {
    connection.release(broken);
  }
}
