import type { Queryable } from "@svc/sql";
import { queryAs, transactionAs } from "./access.ts";
import { checkChunk, type CheckedChunk, type NewChunk } from "./chunk.ts";
import { checkMembers } from "./checks.ts";
import { embedTexts } from "./embed.ts";
import { type Vector, vectorText } from "./embedding.ts";
import { refused } from "./errors.ts";
import { documentLock, tenantLock } from "./locks.ts";
import type { ResolvedOptions } from "./options.ts";
import { deleteAfter, LOCK_DOCUMENT, selectHashes, upsertChunks } from "./sql/chunks.ts";

export interface IngestOptions {
  /** Cancels the ingest, even while it waits for embeddings. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Result of an ingest. */
export interface Ingested {
  /** Number of chunks of the document now. */
  readonly chunks: number;
  /** Number of embedded texts; equal texts count once. */
  readonly embedded: number;
  /** Chunks that reused the stored embedding of the same content. */
  readonly reused: number;
  /** Chunks removed from the end of the document. */
  readonly removed: number;
}

/** Largest number of chunks in one ingest, which writes them in one statement. */
export const MAX_CHUNKS = 10_000;

/**
 * Replaces the chunks of a document, in the given order, and embeds the new contents (SEARCH-2).
 *
 * Holds no lock while it waits for embeddings. After two concurrent ingests, the document has the chunks of one of them. If
 * the other ingest has removed a chunk whose embedding was to be reused, the content is embedded after all.
 */
export async function ingestDocument(
  options: ResolvedOptions,
  tenant: string,
  documentId: string,
  given: readonly NewChunk[],
  { signal }: IngestOptions = {},
): Promise<Ingested> {
  if (!Array.isArray(given)) throw refused("chunks must be an array");
  if (given.length > MAX_CHUNKS) {
    throw refused(`a document takes at most ${MAX_CHUNKS} chunks; use ingestBulk() for more`);
  }
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
    const vectors = await embedTexts(
      options,
      wanted.map((each) => each.content),
      signal,
    );
    for (const [index, { hash }] of wanted.entries()) {
      const vector = vectors[index];
      if (vector !== undefined) made.set(hash, vector);
    }
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

/** Returns the number of removed chunks, or the stored hashes if some of the needed ones are gone. */
async function write(
  tx: Queryable,
  options: ResolvedOptions,
  { tenant, documentId, chunks, made, hashes }: Write,
): Promise<{ readonly removed: number } | { readonly kept: ReadonlySet<string> }> {
  const { table } = options;
  await tx.query(LOCK_DOCUMENT, [tenantLock(table, tenant), documentLock(table, tenant, documentId)]);
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
export function checkIngestOptions(options: unknown): void {
  if (options === undefined) return;
  checkMembers(options, "the options of an ingest", ["signal"]);
  const { signal } = options as IngestOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw refused("signal must be an AbortSignal");
}
