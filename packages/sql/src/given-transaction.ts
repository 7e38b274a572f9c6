import { isPool, type Queryable } from "./queryable.ts";

/** Options of a call that may be part of a transaction of the caller. */
export interface Within {
  readonly tx?: Queryable | undefined;
}

/**
 * Whether something is a transaction, as far as can be known: a pool is none, nor is a connection whose driver says that it is
 * in none.
 */
export function isTransaction(tx: unknown): tx is Queryable {
  if (typeof tx !== "object" || tx === null) return false;
  const { query, getTransactionStatus } = tx as Partial<Record<"query" | "getTransactionStatus", unknown>>;
  if (typeof query !== "function" || isPool(tx as Queryable)) return false;
  return typeof getTransactionStatus !== "function" || getTransactionStatus.call(tx) !== "I";
}

/**
 * The transaction of a call's options. A client that is handed over in their place would otherwise go unnoticed, and what was
 * meant to be rolled back with it would stay.
 *
 * @param refuse makes the error that is thrown for anything else
 * @param others members that the call takes besides `tx`
 */
export function transactionOf(
  given: Within | undefined,
  refuse: (message: string) => Error,
  ...others: string[]
): Queryable | undefined {
  if (given === undefined) return undefined;
  const known = ["tx", ...others];
  if (typeof given !== "object" || given === null || Object.keys(given).some((key) => !known.includes(key)))
    throw refuse(`the options of a call are { ${known.join(", ")} } and nothing else`);
  const { tx } = given;
  if (tx === undefined || isTransaction(tx)) return tx;
  throw refuse(
    "tx must be a connection in a transaction: what is sent over a pool, or without one, is not part of it",
  );
}
