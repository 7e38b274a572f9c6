import type { Queryable } from "@svc/sql";
import type { Hit, Ingested, SearchStore } from "@svc/search-store";
import { type Expense, isExpenseId } from "../expense.ts";
import { findExpense } from "../expense-store.ts";
import type { MetaValue, NewDocument, Query } from "./document.ts";
import { piecesOf } from "./pieces.ts";

/** A piece of a document that was found, as clients see it. */
export interface Found {
  /** The id of the document. */
  readonly document: string;
  /** Which piece of it, from 0 on. */
  readonly piece: number;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** How near it is, 1 at most. */
  readonly score: number;
  /** Its place among the nearest, and among those with words of the query; null where it is none of them. */
  readonly rank: { readonly meaning: number | null; readonly words: number | null };
}

/** Less is chance: hashes of different words meet now and then. */
const leastScore = 0.18;

/**
 * Puts a document into the store, in place of one that had its id; pieces that are as they were keep their embeddings. One that has the
 * id of an expense gets that one's category and time, whatever the client says.
 *
 * @param inTenant works in the tenant's rows
 */
export async function keepDocument(
  store: SearchStore,
  tenant: string,
  { id, text, meta }: NewDocument,
  inTenant: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>,
): Promise<Ingested> {
  const expense = isExpenseId(id) ? await inTenant((tx) => findExpense(tx, id)) : undefined;
  // Whether a document is that of an expense is not for the client to say.
  const { expense: _claimed, ...own } = meta;
  const whole = expense === undefined ? own : { ...own, ...factsOf(expense) };
  const pieces = piecesOf(text).map((content) => ({ content, meta: whole }));
  return store.ingest(tenant, id, pieces);
}

/** What is kept beside the document of an expense. */
export function factsOf({ category, paid_at }: Expense): Readonly<Record<string, MetaValue>> {
  return { category, paid_at, expense: true };
}

/** What a tenant has that is like the query, the best first. */
export async function findDocuments(
  store: SearchStore,
  tenant: string,
  { q, limit, category }: Query,
  signal?: AbortSignal,
): Promise<readonly Found[]> {
  const filter = category === undefined ? undefined : { category };
  const hits = await store.search(tenant, { text: q, limit, filter, signal });
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
