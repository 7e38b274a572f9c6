import { identifier, literal } from "@svc/sql";
import type { ResolvedOptions } from "../options.ts";
import { indexed } from "./search.ts";

type Table = Pick<ResolvedOptions, "quotedTable" | "precision" | "dimensions">;

export interface IndexRow extends Record<string, unknown> {
  readonly name: string;
  /** Quoted name with its schema. */
  readonly path: string;
  readonly valid: boolean;
  readonly bytes: number;
  /** Whether a session is building it at the moment. */
  readonly building: boolean;
}

/** Selects the indexes of a table ($1, quoted) whose name begins with a text ($2). */
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
 * Tries to lock the name ($1) until the end of the transaction, without waiting. A concurrent build waits for running
 * statements, so a session that waited for the lock inside a statement would block the build that holds it.
 */
export const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as locked`;

/** Disables timeouts for the idle transaction that holds the lock during a build. */
export const STAY = `
select set_config(name, '0', true) from pg_catalog.pg_settings
where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** Returns the statement for a partial index. Its tenant is a constant, so that the planner can match it. */
export function createIndex(table: Table, name: string, tenant: string, concurrently: boolean): string {
  return `create index${concurrently ? " concurrently" : ""} ${identifier(name)} on ${table.quotedTable}
using hnsw ((${indexed(table, "embedding")}) halfvec_cosine_ops) where tenant_id = ${literal(tenant)}`;
}

/** @param path quoted name with its schema */
export function dropIndex(path: string, concurrently: boolean): string {
  return `drop index${concurrently ? " concurrently" : ""} if exists ${path}`;
}

/** Returns the statement for the statistics on tenants, from which the planner chooses between index and rows. */
export function analyzeTenants({ quotedTable }: Table): string {
  return `analyze ${quotedTable} (tenant_id)`;
}

/** Returns the query for whether row security hides rows from this login. */
export function selectHidden({ quotedTable }: Table): string {
  return `select row_security_active(${literal(quotedTable)}) as hidden`;
}

/** Returns the query for tenants with at least this number of chunks ($1). */
export function countTenants({ quotedTable }: Table): string {
  return `
select tenant_id as tenant, count(*)::float8 as chunks from ${quotedTable}
group by tenant_id having count(*) >= $1::bigint order by tenant_id`;
}
