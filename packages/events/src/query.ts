import {
  type Database,
  type OptionKind,
  type Queryable,
  type Row,
  tableNameKind,
  transactionOf as givenTransaction,
} from "@svc/sql";
import { refused } from "./errors.ts";

/** Where something is written. */
export interface Within {
  /** A transaction of the caller. Default: none, it is written at once. */
  readonly tx?: Queryable | undefined;
}

/**
 * The transaction of the options.
 *
 * @throws EventError `ERR_SVC_EVENT_ARGUMENT`
 */
export function transactionOf(given: Within | undefined): Queryable | undefined {
  return givenTransaction(given, refused);
}

/** Sends one statement to wherever the caller wants it: a transaction, a connection, or any connection of a pool. */
export async function send<R extends Row>(db: Database, text: string, values: unknown[]): Promise<R[]> {
  if (isQueryable(db)) return (await db.query<R>(text, values)).rows;
  const connection = await db.connect();
  try {
    return (await connection.query<R>(text, values)).rows;
  } finally {
    connection.release();
  }
}

function isQueryable(db: Database): db is Queryable {
  return typeof (db as Partial<Queryable>).query === "function";
}

/** The name of a table; those of its indexes are longer. */
export const tableName: OptionKind<string> = tableNameKind(48);

/** A step of the schema, for a migration tool. */
export interface Migration {
  /** Sorts after the one before it. */
  readonly name: string;
  /** Statements that do no harm where their part is there already. */
  readonly statements: readonly string[];
}
