import {
  type Database,
  isPool,
  type PlannedStatement,
  plannedWithin,
  type Queryable,
  queryWithin,
  type Row,
  transactionOf as givenTransaction,
} from "@svc/sql";
import { refused } from "./errors.ts";
import type { InTransaction } from "./job.ts";
import type { ResolvedOptions } from "./options.ts";

/**
 * Returns the transaction in a call's options.
 *
 * @param others further option names that the call accepts
 * @throws JobError `ERR_SVC_JOB_ARGUMENT`
 */
export function transactionOf(given: InTransaction | undefined, ...others: string[]): Queryable | undefined {
  return givenTransaction(given, refused, ...others);
}

/** Sends a statement in `tx`, by default to the table's database. */
export type Send = <R extends Row>(text: string, values: unknown[], tx?: Queryable) => Promise<R[]>;

/**
 * Returns the function that sends an operation's statements. Their deadline includes the wait for a connection.
 *
 * @param timeoutMs default: the table's `commandTimeoutMs`
 */
export function sending(
  { db, name, commandTimeoutMs }: Pick<ResolvedOptions, "db" | "name" | "commandTimeoutMs">,
  operation: string,
  timeoutMs: number = commandTimeoutMs,
): Send {
  const deadline = { operation: `${operation} of ${name}`, timeoutMs };
  return async <R extends Row>(text: string, values: unknown[], tx?: Queryable) =>
    (await queryWithin<R>(tx ?? db, deadline, text, values)).rows;
}

/** Like `sending()`, for a statement that each pool connection plans once; in a transaction it is not prepared. */
export function sendingPlanned(
  { db, name, commandTimeoutMs }: Pick<ResolvedOptions, "db" | "name" | "commandTimeoutMs">,
  operation: string,
): (statement: PlannedStatement, tx?: Queryable) => Promise<Row[]> {
  const deadline = { operation: `${operation} of ${name}`, timeoutMs: commandTimeoutMs };
  return async (statement, tx) => (await plannedWithin(tx ?? db, deadline, statement)).rows;
}

/** Returns whether `db` is a pool, so that its statements cannot run in a caller's transaction. */
export function isShared(db: Database): boolean {
  return isPool(db);
}
