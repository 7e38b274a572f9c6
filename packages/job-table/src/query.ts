import {
  type Database,
  isPool,
  type Queryable,
  type QueryResult,
  type Row,
  transactionOf as givenTransaction,
} from "@svc/sql";
import { refused } from "./errors.ts";
import type { InTransaction } from "./job.ts";

/**
 * The transaction of a call's options.
 *
 * @param others members that the call takes besides
 * @throws JobError `ERR_SVC_JOB_ARGUMENT`
 */
export function transactionOf(given: InTransaction | undefined, ...others: string[]): Queryable | undefined {
  return givenTransaction(given, refused, ...others);
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
