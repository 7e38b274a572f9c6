import { qualified } from "./identifier.ts";
import type { Database } from "./queryable.ts";

/** Decides which values an option accepts, in the form that `resolveOptions` of `@svc/options` takes. */
export interface OptionKind<T> {
  /** Completes the sentence "must be ...". */
  readonly expects: string;
  accepts(value: unknown): value is T;
}

/** Kind of an option that takes a database. */
export const databaseKind: OptionKind<Database> = {
  expects: "a pool or a connection (an object with query() or connect())",
  accepts: (value): value is Database =>
    typeof value === "object" && value !== null && (isMethod(value, "query") || isMethod(value, "connect")),
};

function isMethod(value: object, name: string): boolean {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

/**
 * Default time limit for one call to the database, in milliseconds. Longer than the limits of `@svc/database` for a
 * connection and a statement, so that the more precise error of `@svc/database` comes first.
 */
export const COMMAND_TIMEOUT_MS = 15_000;
/** Default time limit for a statement that creates, rebuilds or compares a whole table or index, in milliseconds. */
export const MAINTENANCE_TIMEOUT_MS = 600_000;

/** Kind of `commandTimeoutMs`: milliseconds that a call may take. */
export const commandTimeoutKind: OptionKind<number> = milliseconds(10, 600_000);

/** Kind of `maintenanceTimeoutMs`: milliseconds that a statement over a whole table or index may take. */
export const maintenanceTimeoutKind: OptionKind<number> = milliseconds(10, 86_400_000);

function milliseconds(min: number, max: number): OptionKind<number> {
  return {
    expects: `a whole number from ${min} to ${max}`,
    accepts: (value): value is number =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  };
}

/**
 * Returns the kind of an option that takes a table name, with or without its schema.
 *
 * @param maxBytes maximum length of the table name in UTF-8 bytes; names of its indexes are longer
 */
export function tableNameKind(maxBytes: number): OptionKind<string> {
  return {
    expects: `a name of at most ${maxBytes} bytes, or schema.name`,
    accepts: (value): value is string => {
      if (typeof value !== "string") return false;
      try {
        qualified(value);
      } catch {
        return false;
      }
      return Buffer.byteLength(value.slice(value.lastIndexOf(".") + 1)) <= maxBytes;
    },
  };
}
