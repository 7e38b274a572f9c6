import { hash } from "node:crypto";
import {
  type Database,
  identifier,
  isPool,
  literal,
  type Queryable,
  safeErrorText,
  SqlDeadlineError,
  sqlStateOf,
} from "@svc/sql";
import { query } from "../access.ts";
import { type SearchError, searchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import { AGAIN, BUSY, underLock } from "./index-lock.ts";
import { report } from "./report.ts";

/** A tenant's approximate index. */
export interface TenantIndex {
  readonly name: string;
  /** False during the build, and after a failed build. */
  readonly valid: boolean;
  readonly bytes: number;
}

interface IndexRow extends Record<string, unknown> {
  readonly name: string;
  /** Quoted name with its schema. */
  readonly path: string;
  readonly valid: boolean;
  readonly bytes: number;
  /** Whether a session is currently building the index. */
  readonly building: boolean;
}

/** Selects the indexes of a table ($1, quoted) whose name has a prefix ($2). */
export const SELECT_INDEXES = `
select class.relname::text as name, format('%I.%I', space.nspname, class.relname) as path, index.indisvalid as valid,
  pg_relation_size(class.oid)::float8 as bytes,
  exists (
    select from pg_catalog.pg_stat_progress_create_index as progress where progress.index_relid = class.oid
  ) as building
from pg_catalog.pg_index as index
join pg_catalog.pg_class as class on class.oid = index.indexrelid
join pg_catalog.pg_namespace as space on space.oid = class.relnamespace
where index.indrelid = to_regclass($1::text) and starts_with(class.relname::text, $2::text)
order by class.relname`;

/**
 * Returns the statement for a partial index. The tenant in its condition is a constant, so that the planner can match
 * the condition.
 */
function createIndex(options: ResolvedOptions, name: string, tenant: string, concurrently: boolean): string {
  return `create index${concurrently ? " concurrently" : ""} ${identifier(name)} on ${options.quotedTable}
using hnsw ((${indexed(options, "embedding")}) halfvec_cosine_ops) where tenant_id = ${literal(tenant)}`;
}

/** Returns the index expression for the given column name. */
export function indexed(
  { precision, dimensions }: Pick<ResolvedOptions, "precision" | "dimensions">,
  column: string,
): string {
  return precision === "half" ? column : `${column}::halfvec(${dimensions})`;
}

/** @param path quoted name with its schema */
function dropIndex(path: string, concurrently: boolean): string {
  return `drop index${concurrently ? " concurrently" : ""} if exists ${path}`;
}

/** Returns the common prefix of the names of all tenant indexes. */
function indexPrefix({ table }: Pick<ResolvedOptions, "table">): string {
  return `${table.slice(table.lastIndexOf(".") + 1)}_hnsw_`;
}

/** Returns the name of a tenant's index, with a hash of the tenant, since the tenant must not appear in plans or logs. */
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
 * Creates a tenant's approximate index, unless it exists. Drops and rebuilds an invalid index of an interrupted build. On a
 * pool it builds concurrently, so reads and writes continue. Several processes may call it concurrently: one builds and the
 * others wait.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` if it cannot be created
 * @throws SqlDeadlineError if a statement takes too long; the next call removes what the build left
 */
export async function ensureTenantIndex(options: ResolvedOptions, tenant: string): Promise<TenantIndex> {
  const { index, made } = await makeTenantIndex(options, tenant);
  if (made) await tellPlanner(options, index.name);
  return index;
}

/**
 * Updates the tenant statistics by which the planner chooses between an index scan and reading rows. Takes the lock, since
 * ANALYZE and a build would wait for each other.
 */
export function tellPlanner(options: ResolvedOptions, name: string): Promise<void> {
  return underLock(options, name, (tx) =>
    alter(options, tx, () => `analyze ${options.quotedTable} (tenant_id)`),
  );
}

/** Does the same as {@link ensureTenantIndex}, without updating the planner's statistics. */
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
    // The server may continue a build after the process that started it has ended. Just before the commit, such a build
    // looks interrupted, so check again before rebuilding.
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

/** Drops a tenant's approximate index. @returns whether it existed */
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

/** Returns all tenant indexes of a table. */
export async function allIndexes(options: ResolvedOptions): Promise<readonly IndexRow[]> {
  const prefix = indexPrefix(options);
  const { rows } = await query<IndexRow>(options.db, SELECT_INDEXES, [options.quotedTable, prefix]);
  return rows.filter(({ name }) => /^[0-9a-f]{16}$/.test(name.slice(prefix.length)));
}

/**
 * Finds an index, if possible on a connection other than the lock's: a query in the locking transaction would leave it with
 * a snapshot, and a concurrent build would wait for that transaction to end.
 */
async function find(options: ResolvedOptions, name: string, tx?: Queryable): Promise<IndexRow | undefined> {
  const db = tx === undefined || hasSecondConnection(options.db) ? options.db : tx;
  const { rows } = await query<IndexRow>(db, SELECT_INDEXES, [options.quotedTable, name]);
  return rows.find((row) => row.name === name);
}

/** Runs a statement concurrently on another connection if there is one, else in the lock's transaction. */
async function alter(
  { db }: ResolvedOptions,
  tx: Queryable,
  statement: (concurrently: boolean) => string,
): Promise<void> {
  if (hasSecondConnection(db)) await query(db, statement(true));
  else await tx.query(statement(false));
}

/** Drops the invalid index of a failed build: searches cannot use it, but every write would maintain it. */
async function sweep(options: ResolvedOptions, name: string): Promise<void> {
  if (!hasSecondConnection(options.db)) return;
  try {
    const left = await find(options, name);
    if (left?.valid === false && !left.building) await query(options.db, dropIndex(left.path, true));
  } catch {
    // Ignore: the caller throws the build's error.
  }
}

function shown({ name, valid, bytes }: IndexRow): TenantIndex {
  return { name, valid, bytes };
}

function failed(name: string, cause?: unknown): SearchError {
  // 57014: cancelled, for example by statement_timeout.
  const why =
    sqlStateOf(cause) === "57014"
      ? "was cancelled: use a database role without statement_timeout for the store that builds indexes"
      : "could not be built";
  return searchError("ERR_SVC_SEARCH_INDEX", `the index ${name} ${why}`, cause);
}

/**
 * Returns whether a statement can run on a second connection during a transaction, which concurrent index builds need. The
 * embedded database and a pool of one have no second connection.
 */
export function hasSecondConnection(db: Database): boolean {
  if (!isPool(db)) return false;
  const { embedded, options } = db as { embedded?: unknown; options?: { readonly max?: unknown } | null };
  return embedded !== true && options?.max !== 1;
}
