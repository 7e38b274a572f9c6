import { isPool, type Queryable } from "./queryable.ts";

/** Options of a call that may run in the caller's transaction. */
export interface Within {
  readonly tx?: Queryable | undefined;
}

/**
 * Returns whether a value can be a transaction. Rejects a pool, and a connection whose driver reports that no transaction
 * is open.
 */
export function isTransaction(tx: unknown): tx is Queryable {
  if (typeof tx !== "object" || tx === null) return false;
  const { query, getTransactionStatus } = tx as Partial<Record<"query" | "getTransactionStatus", unknown>>;
  if (typeof query !== "function" || isPool(tx as Queryable)) return false;
  return typeof getTransactionStatus !== "function" || getTransactionStatus.call(tx) !== "I";
}

/**
 * Returns the transaction from the options of a call. Rejects a client that was passed in place of the options: its
 * transaction would be ignored, and the caller's rollback would not undo the call.
 *
 * @param refuse creates the error for invalid options
 * @param others other option names that the call accepts
 */
export function transactionOf(
  given: Within | undefined,
  refuse: (message: string) => Error,
  ...others: string[]
): Queryable | undefined {
  if (given === undefined) return undefined;
  const known = ["tx", ...others];
  if (typeof given !== "object" || given === null || Object.keys(given).some((key) => !known.includes(key)))
    throw refuse(`the options must be an object with no members other than ${known.join(", ")}`);
  const { tx } = given;
  if (tx === undefined || isTransaction(tx)) return tx;
  const isConnection = typeof (tx as Partial<Queryable> | null)?.query === "function";
  const fault = isConnection
    ? "it is a pool, or no transaction is open"
    : "it has no query(): pass the connection that the transaction of a data mapper uses";
  throw refuse(`tx must be a connection with an open transaction; ${fault}`);
}
