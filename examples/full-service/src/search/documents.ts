import type { Queryable } from "@svc/sql";
import type { BoundSearch, Hit, Ingested } from "@svc/search-store";
import { type Expense, isExpenseId } from "../expense.ts";
import { findExpense } from "../expense-store.ts";
import type { MetaValue, NewDocument, Query } from "./document.ts";
import { piecesOf } from "./pieces.ts";

/** A piece of a document in a search result, as clients see it. */
export interface Found {
  /** The id of the document. */
  readonly document: string;
  /** The index of the piece, from 0. */
  readonly piece: number;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Similarity, at most 1. */
  readonly score: number;
  /** The rank of the piece by similarity and by words. A rank is null if that kind of search did not find the piece. */
  readonly rank: { readonly meaning: number | null; readonly words: number | null };
}

/** Minimum score. Lower scores are coincidence, because hashes of different words sometimes collide. */
const leastScore = 0.18;

/**
 * Stores a document, and replaces a document with the same id; unchanged pieces keep their embeddings. A document with the
 * id of an expense gets the expense's category and time, even if the client sends others.
 *
 * @param inTenant runs work as the tenant
 */
export async function keepDocument(
  search: BoundSearch,
  tenant: string,
  { id, text, meta }: NewDocument,
  inTenant: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>,
): Promise<Ingested> {
  const expense = isExpenseId(id) ? await inTenant((tx) => findExpense(tx, id)) : undefined;
  // A client must not claim that a document belongs to an expense.
  const { expense: _claimed, ...own } = meta;
  const metadata = expense === undefined ? own : { ...own, ...factsOf(expense) };
  const pieces = piecesOf(text).map((content) => ({ content }));
  return search.ingest(id, pieces, { tenant, metadata });
}

/** Returns the metadata of the document of an expense. */
export function factsOf({ category, paid_at }: Expense): Readonly<Record<string, MetaValue>> {
  return { category, paid_at, expense: true };
}

/** Returns the pieces of the tenant's documents that match the query, best match first. */
export async function findDocuments(
  search: BoundSearch,
  tenant: string,
  { q, limit, category }: Query,
  signal?: AbortSignal,
): Promise<readonly Found[]> {
  const where = category === undefined ? undefined : { category };
  const hits = await search.search({ tenant, text: q, limit, where, signal });
  return hits.filter(isLike).map(shape);
}

function isLike({ score, textRank }: Hit): boolean {
  return textRank !== null || (score ?? 0) >= leastScore;
}

function shape({ documentId, ordinal, content, meta, score, vectorRank, textRank }: Hit): Found {
  return {
    document: documentId,
    piece: ordinal,
    text: content,
    meta,
    score: Math.round((score ?? 0) * 1e4) / 1e4,
    rank: { meaning: vectorRank, words: textRank },
  };
}
