import { identifier } from "@svc/sql";
import type { ResolvedOptions } from "../options.ts";
import { literal } from "./literal.ts";
import { indexed } from "./search.ts";

type Table = Pick<ResolvedOptions, "quotedTable" | "precision" | "dimensions">;

export interface IndexRow extends Record<string, unknown> {
  readonly name: string;
  /** Quoted, with its schema. */
  readonly path: string;
  readonly valid: boolean;
  readonly bytes: number;
  /** Whether somebody is making it at this moment. */
  readonly building: boolean;
}

/** The indexes of a table ($1, quoted) whose name begins with a text ($2). */
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
 * A lock of the name ($1) to the end of the transaction, if it can be had at once. Who waited for it inside of a statement would
 * be waited for by the very build that holds it.
 */
export const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as locked`;

/** The transaction of the lock does nothing while the index is made, which is no reason to end it. */
export const STAY = `
select set_config(name, '0', true) from pg_catalog.pg_settings
where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** The tenant is a constant of the index, so that a statement which names it is known to be about rows of the index alone. */
export function createIndex(table: Table, name: string, tenant: string, concurrently: boolean): string {
  return `create index${concurrently ? " concurrently" : ""} ${identifier(name)} on ${table.quotedTable}
using hnsw ((${indexed(table, "embedding")}) halfvec_cosine_ops) where tenant_id = ${literal(tenant)}`;
}

/** @param path quoted */
export function dropIndex(path: string, concurrently: boolean): string {
  return `drop index${concurrently ? " concurrently" : ""} if exists ${path}`;
}

/** How many rows a tenant has decides between its index and its rows: the planner has to know it. */
export function analyzeTenants({ quotedTable }: Table): string {
  return `analyze ${quotedTable} (tenant_id)`;
}

/** Whether row security hides rows from this login. */
export function selectHidden({ quotedTable }: Table): string {
  return `select row_security_active(${literal(quotedTable)}) as hidden`;
}

/** Tenants with at least so many chunks ($1). */
export function countTenants({ quotedTable }: Table): string {
  return `
select tenant_id as tenant, count(*)::float8 as chunks from ${quotedTable}
group by tenant_id having count(*) >= $1::bigint order by tenant_id`;
}
