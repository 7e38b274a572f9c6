import { type Queryable, transactionOf as givenTransaction } from "@svc/sql";
import { refused } from "./errors.ts";

/** The transaction to write in. */
export interface Within {
  /** A transaction of the caller. Default: none, the write commits immediately. */
  readonly tx?: Queryable | undefined;
}

/**
 * Returns the transaction given in the options.
 *
 * @throws EventError `ERR_SVC_EVENT_ARGUMENT`
 */
export function transactionOf(given: Within | undefined): Queryable | undefined {
  return givenTransaction(given, refused);
}

/** A schema migration, for a migration tool. */
export interface Migration {
  /** Sorts after the name of the previous migration. */
  readonly name: string;
  /** Idempotent statements. */
  readonly statements: readonly string[];
}
