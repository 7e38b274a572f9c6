import { qualified } from "./identifier.ts";
import type { Database } from "./queryable.ts";

/** What an option may be, as `resolveOptions` of `@svc/options` asks for it. */
export interface OptionKind<T> {
  /** Completes the sentence "must be ...". */
  readonly expects: string;
  accepts(value: unknown): value is T;
}

/** Of an option that takes a database. */
export const databaseKind: OptionKind<Database> = {
  expects: "a pool or a connection (an object with query() or connect())",
  accepts: (value): value is Database =>
    typeof value === "object" && value !== null && (isMethod(value, "query") || isMethod(value, "connect")),
};

function isMethod(value: object, name: string): boolean {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

/**
 * Milliseconds that a call to the database may take where no other time is set: longer than a `@svc/database` waits for a
 * connection and a statement, so that its own error comes first.
 */
export const COMMAND_TIMEOUT_MS = 15_000;
/** The same for one statement that makes, rebuilds or compares a whole table or index. */
export const MAINTENANCE_TIMEOUT_MS = 600_000;

/** Of `commandTimeoutMs`: milliseconds that a call may take. */
export const commandTimeoutKind: OptionKind<number> = milliseconds(10, 600_000);

/** Of `maintenanceTimeoutMs`: milliseconds that a statement over a whole table or index may take. */
export const maintenanceTimeoutKind: OptionKind<number> = milliseconds(10, 86_400_000);

function milliseconds(min: number, max: number): OptionKind<number> {
  return {
    expects: `a whole number from ${min} to ${max}`,
    accepts: (value): value is number =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  };
}

/**
 * Of an option that takes the name of a table, which `qualified()` takes too.
 *
 * @param maxBytes of the table's own name, in UTF-8: those of its indexes are longer
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
