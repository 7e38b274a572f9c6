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
