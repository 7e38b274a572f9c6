import { type OptionalKind, withDefault } from "@svc/options";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  type OptionKind,
  type Queryable,
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

/** How long calls on a table may take. */
export interface TableTimeouts {
  /** Milliseconds for a call, its wait for a connection of the pool included. */
  readonly commandTimeoutMs: number;
  /** Milliseconds for each statement that makes something of the table. */
  readonly maintenanceTimeoutMs: number;
}

/** The options of a table that say so. */
export const timeoutKinds: Readonly<Record<keyof TableTimeouts, OptionalKind<number, number>>> = {
  commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
  maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
};

/** The name of a table; those of its indexes are longer. */
export const tableName: OptionKind<string> = tableNameKind(48);

/** A step of the schema, for a migration tool. */
export interface Migration {
  /** Sorts after the one before it. */
  readonly name: string;
  /** Statements that do no harm where their part is there already. */
  readonly statements: readonly string[];
}
