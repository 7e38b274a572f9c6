import { literal } from "@svc/sql";
import type { ResolvedOptions } from "../options.ts";

type Names = Pick<ResolvedOptions, "quotedTable" | "vectorType">;

/**
 * Locks the tenant, shared by ingests and exclusive for its deletion, and one document. It is a separate statement, so that
 * the next one sees what the previous holder committed.
 */
export const LOCK_DOCUMENT = `
select pg_advisory_xact_lock_shared(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 0))`;

export const LOCK_TENANT_SHARED = `select pg_advisory_xact_lock_shared(hashtextextended($1, 0))`;

export const LOCK_TENANT = `select pg_advisory_xact_lock(hashtextextended($1, 0))`;

/** Returns the query for the stored hashes of a document among the given ones. */
export function selectHashes({ quotedTable }: Names): string {
  return `
select distinct encode(content_sha256, 'hex') as hash from ${quotedTable}
where tenant_id = $1 and document_id = $2 and encode(content_sha256, 'hex') = any($3::text[])`;
}

/** Returns the upsert of a whole document. Reuses the embedding of the same content, and writes only changed chunks. */
export function upsertChunks({ quotedTable, vectorType }: Names): string {
  return `
with given as (
  select * from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
    as given (ordinal, content, hash, meta, embedding)
), old as (
  select distinct on (content_sha256) content_sha256, embedding from ${quotedTable}
  where tenant_id = $1 and document_id = $2
  order by content_sha256, ordinal
)
insert into ${quotedTable} as chunk (tenant_id, document_id, ordinal, content, content_sha256, meta, embedding)
select $1, $2, given.ordinal, given.content, decode(given.hash, 'hex'), given.meta::jsonb,
  coalesce(given.embedding::${vectorType}, old.embedding)
from given left join old on old.content_sha256 = decode(given.hash, 'hex')
order by given.ordinal
on conflict (tenant_id, document_id, ordinal) do update
set content = excluded.content, content_sha256 = excluded.content_sha256, meta = excluded.meta,
  embedding = excluded.embedding,
  created_at = case when chunk.content_sha256 = excluded.content_sha256 then chunk.created_at else now() end
where (chunk.content_sha256, chunk.meta, chunk.embedding)
  is distinct from (excluded.content_sha256, excluded.meta, excluded.embedding)`;
}

/** Returns the statement that deletes the chunks after a document's new end. */
export function deleteAfter({ quotedTable }: Names): string {
  return `delete from ${quotedTable} where tenant_id = $1 and document_id = $2 and ordinal >= $3`;
}

export function deleteDocumentRows({ quotedTable }: Names): string {
  return `delete from ${quotedTable} where tenant_id = $1 and document_id = $2`;
}

export function deleteTenantRows({ quotedTable }: Names): string {
  return `delete from ${quotedTable} where tenant_id = $1`;
}

/** Returns the insert of new chunks, for connections without COPY. */
export function insertChunks({ quotedTable, vectorType }: Names): string {
  return `
insert into ${quotedTable} (tenant_id, document_id, ordinal, content, content_sha256, meta, embedding)
select $1, document_id, ordinal, content, decode(hash, 'hex'), meta::jsonb, embedding::${vectorType}
from unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
  as given (document_id, ordinal, content, hash, meta, embedding)`;
}

export function countRows({ quotedTable }: Names): string {
  return `
select count(*)::int as chunks, count(distinct document_id)::int as documents from ${quotedTable} where tenant_id = $1`;
}

/** Returns the query for one page plus one row; `more` is an additional condition. */
export function selectPage({ quotedTable }: Names, more: string, limit: string): string {
  return `
select document_id, ordinal, content, meta, created_at from ${quotedTable}
where tenant_id = $1${more}
order by document_id, ordinal
limit ${limit}`;
}

/** Returns the query for what rules out a direct COPY: active row security, and no right to read server files. */
export function selectRights({ quotedTable }: Names): string {
  return `
select row_security_active(${literal(quotedTable)}) as secured,
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or pg_has_role('pg_read_server_files', 'usage') as files`;
}

/** Returns the statement that creates a temporary table for the transaction. */
export function makeStage({ quotedTable }: Names, stage: string): string {
  return `
create temporary table ${stage} on commit drop as
select tenant_id, document_id, ordinal, content, content_sha256, meta, embedding from ${quotedTable} with no data`;
}

/** Returns the statement that drops it, so that another load in the same transaction can create its own. */
export function dropStage(stage: string): string {
  return `drop table pg_temp.${stage}`;
}

export function insertStaged({ quotedTable }: Names, stage: string): string {
  return `
insert into ${quotedTable} (tenant_id, document_id, ordinal, content, content_sha256, meta, embedding)
select tenant_id, document_id, ordinal, content, content_sha256, meta, embedding from ${stage}`;
}
