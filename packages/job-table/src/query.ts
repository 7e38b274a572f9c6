import { type Database, isPool, type Queryable, type QueryResult, type Row } from "@svc/sql";
import { refused } from "./errors.ts";
import type { InTransaction } from "./job.ts";

/**
 * The transaction of a call's options. A client that is handed over in their place would otherwise go unnoticed, and what
 * was meant to be rolled back with it would stay.
 *
 * @param others members that the call takes besides
 * @throws JobError `ERR_SVC_JOB_ARGUMENT`
 */
export function transactionOf(given: InTransaction | undefined, ...others: string[]): Queryable | undefined {
  if (given === undefined) return undefined;
  const known = ["tx", ...others];
  if (typeof given !== "object" || given === null || Object.keys(given).some((key) => !known.includes(key)))
    throw refused(`the options of a call are { ${known.join(", ")} } and nothing else`);
  const tx: unknown = given.tx;
  if (tx === undefined) return undefined;
  const isConnection =
    typeof tx === "object" && tx !== null && isQueryable(tx as Database) && !isPool(tx as Database);
  if (!isConnection)
    throw refused("tx must be a connection in a transaction: what is sent over a pool is not part of one");
  return tx as Queryable;
}

/** Sends one statement to wherever the caller wants it: a transaction, a connection, or any connection of a pool. */
export async function send<R extends Row>(
  db: Database,
  text: string,
  values: unknown[],
): Promise<QueryResult<R>> {
  if (isQueryable(db)) return db.query<R>(text, values);
  const connection = await db.connect();
  try {
    return await connection.query<R>(text, values);
  } finally {
    connection.release();
  }
}

/** Whether statements may go to any of several connections, so that none of them is part of a transaction. */
export function isShared(db: Database): boolean {
  return isPool(db);
}

function isQueryable(db: Database): db is Queryable {
  return typeof (db as Partial<Queryable>).query === "function";
}
