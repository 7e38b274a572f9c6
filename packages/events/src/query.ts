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

/** Deadlines of calls on a table. */
export interface TableTimeouts {
  /** Milliseconds for a call, including the wait for a pooled connection. */
  readonly commandTimeoutMs: number;
  /** Milliseconds for each statement that creates a part of the table. */
  readonly maintenanceTimeoutMs: number;
}

/** The option kinds of the deadlines. */
export const timeoutKinds: Readonly<Record<keyof TableTimeouts, OptionalKind<number, number>>> = {
  commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
  maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
};

/** A table name, short enough that its index names fit. */
export const tableName: OptionKind<string> = tableNameKind(48);

/** A schema migration, for a migration tool. */
export interface Migration {
  /** Sorts after the name of the previous migration. */
  readonly name: string;
  /** Idempotent statements. */
  readonly statements: readonly string[];
}
