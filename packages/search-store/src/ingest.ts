import type { Queryable } from "@svc/sql";
import { queryAs, transactionAs } from "./access.ts";
import { checkChunk, type CheckedChunk, type NewChunk } from "./chunk.ts";
import { checkMembers } from "./checks.ts";
import { embedContents } from "./embed.ts";
import { type Vector, vectorText } from "./embedding.ts";
import { refused } from "./errors.ts";
import { lockDocument } from "./locks.ts";
import type { ResolvedOptions } from "./options.ts";

export interface IngestOptions {
  /** Cancels the ingest, even while it waits for embeddings. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Result of an ingest. */
export interface Ingested {
  /** Number of chunks that the document has now. */
  readonly chunks: number;
  /** Number of texts embedded; duplicates count once. */
  readonly embedded: number;
  /** Chunks that reused the stored embedding of the same content. */
  readonly reused: number;
  /** Chunks removed from the end of the document. */
  readonly removed: number;
}

/** Largest number of chunks in one ingest, which writes them in one statement. */
export const MAX_CHUNKS = 10_000;

/** Returns the query that selects which of the given hashes a document has stored. */
function selectHashes({ quotedTable }: ResolvedOptions): string {
  return `
select distinct encode(content_sha256, 'hex') as hash from ${quotedTable}
where tenant_id = $1 and document_id = $2 and encode(content_sha256, 'hex') = any($3::text[])`;
}

/**
 * Returns the upsert of a whole document. Reuses the embedding of the same content, and writes only changed chunks. The
 * names of the expressions begin with `_svc_`, because an expression hides a table of the same name.
 */
function upsertChunks({ quotedTable, vectorType }: ResolvedOptions): string {
  return `
with _svc_given as (
  select * from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
    as given (ordinal, content, hash, meta, embedding)
), _svc_old as (
  select distinct on (content_sha256) content_sha256, embedding from ${quotedTable}
  where tenant_id = $1 and document_id = $2
  order by content_sha256, ordinal
)
insert into ${quotedTable} as chunk (tenant_id, document_id, ordinal, content, content_sha256, meta, embedding)
select $1, $2, given.ordinal, given.content, decode(given.hash, 'hex'), given.meta::jsonb,
  coalesce(given.embedding::${vectorType}, old.embedding)
from _svc_given as given left join _svc_old as old on old.content_sha256 = decode(given.hash, 'hex')
order by given.ordinal
on conflict (tenant_id, document_id, ordinal) do update
set content = excluded.content, content_sha256 = excluded.content_sha256, meta = excluded.meta,
  embedding = excluded.embedding,
  created_at = case when chunk.content_sha256 = excluded.content_sha256 then chunk.created_at else now() end
where (chunk.content_sha256, chunk.meta, chunk.embedding)
  is distinct from (excluded.content_sha256, excluded.meta, excluded.embedding)`;
}

/** Returns the statement that deletes the chunks after a document's new end. */
function deleteAfter({ quotedTable }: ResolvedOptions): string {
  return `delete from ${quotedTable} where tenant_id = $1 and document_id = $2 and ordinal >= $3`;
}

/**
 * Replaces the chunks of a document, in the given order, and embeds the new contents (SEARCH-2).
 *
 * Holds no lock while it waits for embeddings. After two concurrent ingests, the document has the chunks of one of them. If
 * a concurrent change has removed a chunk whose embedding was to be reused, the content is embedded again.
 */
export async function ingestDocument(
  options: ResolvedOptions,
  tenant: string,
  documentId: string,
  given: readonly NewChunk[],
  { signal }: IngestOptions = {},
): Promise<Ingested> {
  checkCount(given);
  // Array.from() visits holes too, and a hole is not a valid chunk.
  const chunks = Array.from(given, (chunk, index) => checkChunk(options, chunk, `chunk ${index}`));
  signal?.throwIfAborted();
  const open = new Map(
    chunks.filter((each) => each.embedding === undefined).map((each) => [each.hash, each]),
  );
  const made = new Map<string, Vector>();
  let kept = await keptHashes(options, tenant, documentId, [...open.keys()]);
  for (;;) {
    const wanted = [...open.values()].filter(({ hash }) => !kept.has(hash) && !made.has(hash));
    for (const [hash, vector] of await embedContents(options, wanted, signal)) made.set(hash, vector);
    const outcome = await transactionAs(options, tenant, (tx) =>
      write(tx, options, { tenant, documentId, chunks, made, hashes: [...open.keys()] }),
    );
    if ("removed" in outcome) {
      const reused = chunks.filter((each) => each.embedding === undefined && !made.has(each.hash)).length;
      return { chunks: chunks.length, embedded: made.size, reused, removed: outcome.removed };
    }
    kept = outcome.kept;
  }
}

interface Write {
  readonly tenant: string;
  readonly documentId: string;
  readonly chunks: readonly CheckedChunk[];
  readonly made: ReadonlyMap<string, Vector>;
  readonly hashes: readonly string[];
}

/** Returns the number of removed chunks, or the stored hashes if some of the needed embeddings are gone. */
async function write(
  tx: Queryable,
  options: ResolvedOptions,
  { tenant, documentId, chunks, made, hashes }: Write,
): Promise<{ readonly removed: number } | { readonly kept: ReadonlySet<string> }> {
  await lockDocument(tx, options.table, tenant, documentId);
  const needed = hashes.filter((hash) => !made.has(hash));
  if (needed.length > 0) {
    const { rows } = await tx.query<HashRow>(selectHashes(options), [tenant, documentId, needed]);
    if (rows.length < needed.length) return { kept: new Set(rows.map((row) => row.hash)) };
  }
  if (chunks.length > 0) {
    await tx.query(upsertChunks(options), [
      tenant,
      documentId,
      chunks.map((_, ordinal) => ordinal),
      chunks.map((each) => each.content),
      chunks.map((each) => each.hash),
      chunks.map((each) => each.meta),
      chunks.map((each) => {
        const vector = each.embedding ?? made.get(each.hash);
        return vector === undefined ? null : vectorText(vector);
      }),
    ]);
  }
  const { rowCount } = await tx.query(deleteAfter(options), [tenant, documentId, chunks.length]);
  return { removed: rowCount ?? 0 };
}

type HashRow = { hash: string };

async function keptHashes(
  options: ResolvedOptions,
  tenant: string,
  documentId: string,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  if (hashes.length === 0) return new Set();
  const values = [tenant, documentId, hashes];
  const { rows } = await queryAs<HashRow>(options, tenant, selectHashes(options), values);
  return new Set(rows.map((row) => row.hash));
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT` */
export function checkCount(given: readonly unknown[]): void {
  if (!Array.isArray(given)) throw refused("chunks must be an array");
  if (given.length <= MAX_CHUNKS) return;
  throw refused(`a document may have at most ${MAX_CHUNKS} chunks; use ingestBulk() for more`);
}

/** @throws SearchError `ERR_SVC_SEARCH_ARGUMENT` */
export function checkIngestOptions(options: unknown): void {
  if (options === undefined) return;
  checkMembers(options, "the ingest options", ["signal"]);
  const { signal } = options as IngestOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw refused("signal must be an AbortSignal");
}
