import { hash } from "node:crypto";
import { type Queryable, safeErrorText, SqlDeadlineError, sqlStateOf } from "@svc/sql";
import { query } from "../access.ts";
import { SearchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import {
  analyzeTenants,
  createIndex,
  dropIndex,
  type IndexRow,
  SELECT_INDEXES,
} from "../sql/tenant-index.ts";
import { AGAIN, BUSY, underLock } from "./index-lock.ts";
import { report } from "./report.ts";
import { hasSecondConnection } from "./second-connection.ts";

/** The approximate index of a tenant. */
export interface TenantIndex {
  readonly name: string;
  /** False while it is being made, and after that failed. */
  readonly valid: boolean;
  readonly bytes: number;
}

/** What the names of all indexes of tenants begin with. */
export function indexPrefix({ table }: Pick<ResolvedOptions, "table">): string {
  return `${table.slice(table.lastIndexOf(".") + 1)}_hnsw_`;
}

/** The name of a tenant's index. A tenant may have any name: a hash of it is one that can be shown. */
export function tenantIndexName(options: Pick<ResolvedOptions, "table">, tenant: string): string {
  return indexPrefix(options) + hash("sha256", tenant).slice(0, 16);
}

export async function tenantIndexOf(
  options: ResolvedOptions,
  tenant: string,
): Promise<TenantIndex | undefined> {
  const found = await find(options, tenantIndexName(options, tenant));
  return found === undefined ? undefined : shown(found);
}

/**
 * Gives a tenant an approximate index, or leaves alone the one that it has. What a build left behind that never ended is
 * dropped, and made again. On a pool it is made concurrently: reads and writes go on meanwhile. Any number of processes may
 * call this at once: one of them makes it and the others wait.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` when it cannot be made
 * @throws SqlDeadlineError when a statement takes longer than it may; the next call takes away what the build has left
 */
export async function ensureTenantIndex(options: ResolvedOptions, tenant: string): Promise<TenantIndex> {
  const { index, made } = await makeTenantIndex(options, tenant);
  if (made) await tellPlanner(options, index.name);
  return index;
}

/** How many rows every tenant has. Not beside a build: that would wait for this, and this for the build. */
export function tellPlanner(options: ResolvedOptions, name: string): Promise<void> {
  return underLock(options, name, (tx) => alter(options, tx, () => analyzeTenants(options)));
}

/** As {@link ensureTenantIndex}, without telling the planner how many rows the tenant has. */
export async function makeTenantIndex(
  options: ResolvedOptions,
  tenant: string,
  chunks?: number,
): Promise<{ readonly index: TenantIndex; readonly made: boolean }> {
  const name = tenantIndexName(options, tenant);
  const there = await find(options, name);
  if (there?.valid === true) return { index: shown(there), made: false };
  let isLeft = false;
  return underLock(options, name, async (tx) => {
    const found = await find(options, name, tx);
    if (found?.valid === true) return { index: shown(found), made: false };
    // Its process may have ended and left the server to it. Between the end of a build and its commit it looks left behind.
    if (found !== undefined && (found.building || !isLeft)) {
      isLeft = !found.building;
      return isLeft ? AGAIN : BUSY;
    }
    const started = performance.now();
    try {
      if (found !== undefined)
        await alter(options, tx, (concurrently) => dropIndex(found.path, concurrently));
      await alter(options, tx, (concurrently) => createIndex(options, name, tenant, concurrently));
    } catch (error) {
      await sweep(options, name);
      report(options, { type: "index-failed", index: name, chunks, error: safeErrorText(error) });
      throw error instanceof SqlDeadlineError ? error : failed(name, error);
    }
    const made = await find(options, name, tx);
    if (made === undefined) throw failed(name);
    report(options, { type: "index-created", index: name, chunks, durationMs: performance.now() - started });
    return { index: shown(made), made: true };
  });
}

/** Takes a tenant's approximate index away. @returns whether there was one */
export function dropTenantIndex(options: ResolvedOptions, tenant: string): Promise<boolean> {
  return dropNamed(options, tenantIndexName(options, tenant));
}

export async function dropNamed(options: ResolvedOptions, name: string, chunks?: number): Promise<boolean> {
  if ((await find(options, name)) === undefined) return false;
  return underLock(options, name, async (tx) => {
    const found = await find(options, name, tx);
    if (found === undefined) return false;
    if (found.building) return BUSY;
    await alter(options, tx, (concurrently) => dropIndex(found.path, concurrently));
    report(options, { type: "index-dropped", index: name, chunks });
    return true;
  });
}

/** The indexes of tenants that a table has. */
export async function allIndexes(options: ResolvedOptions): Promise<readonly IndexRow[]> {
  const prefix = indexPrefix(options);
  const { rows } = await query<IndexRow>(options.db, SELECT_INDEXES, [options.quotedTable, prefix]);
  return rows.filter(({ name }) => /^[0-9a-f]{16}$/.test(name.slice(prefix.length)));
}

/**
 * Beside the transaction of the lock, where there is another connection: a statement with values leaves that one a snapshot,
 * for whose end a concurrent build would wait.
 */
async function find(options: ResolvedOptions, name: string, tx?: Queryable): Promise<IndexRow | undefined> {
  const db = tx === undefined || hasSecondConnection(options.db) ? options.db : tx;
  const { rows } = await query<IndexRow>(db, SELECT_INDEXES, [options.quotedTable, name]);
  return rows.find((row) => row.name === name);
}

/** Concurrently on another connection, where there is one, else in the transaction of the lock. */
async function alter(
  { db }: ResolvedOptions,
  tx: Queryable,
  statement: (concurrently: boolean) => string,
): Promise<void> {
  if (hasSecondConnection(db)) await query(db, statement(true));
  else await tx.query(statement(false));
}

/** What was cut off is of no use to a search, and of some cost to every write. The next call would take it away too. */
async function sweep(options: ResolvedOptions, name: string): Promise<void> {
  if (!hasSecondConnection(options.db)) return;
  try {
    const left = await find(options, name);
    if (left?.valid === false && !left.building) await query(options.db, dropIndex(left.path, true));
  } catch {
    // Why it could not be made is what is to be said.
  }
}

function shown({ name, valid, bytes }: IndexRow): TenantIndex {
  return { name, valid, bytes };
}

function failed(name: string, cause?: unknown): SearchError {
  // 57014: cancelled, which is what statement_timeout does.
  const why =
    sqlStateOf(cause) === "57014"
      ? "was cut off: give the store that makes indexes a login without statement_timeout"
      : "could not be made";
  return new SearchError(
    "ERR_SVC_SEARCH_INDEX",
    `the index ${name} ${why}`,
    cause === undefined ? undefined : { cause },
  );
}
