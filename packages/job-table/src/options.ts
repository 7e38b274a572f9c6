import {
  boolean,
  ConfigurationError,
  func,
  integer,
  type Kind,
  number,
  oneOf,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type Database, qualified } from "@svc/sql";
import type { Taker } from "./taker.ts";

/** The table where no other one is named (JOB-1). */
export const DEFAULT_TABLE = "svc_jobs";

/** What {@link createJobTable} takes. */
export interface JobTableOptions {
  /**
   * Where the table is: a pool or client of `pg`, a transaction, a database of `@svc/database`, whatever `@svc/sql` calls a
   * database. It stays the caller's to close. Required.
   */
  readonly db: Database;
  /** The table, by name (at most 48 bytes) or `schema.name`. Default: `svc_jobs`. */
  readonly name?: string | undefined;
  /** Seconds for which a claim holds a job (JOB-14), 1 to 86,400. Nothing extends it. Default: 300. */
  readonly visibilityTimeoutSeconds?: number | undefined;
  /** How long the JSON of a payload may be, in bytes, up to 64 MiB. Default: 1,048,576. */
  readonly maxPayloadBytes?: number | undefined;
  /** Whether queueing tells workers that listen. Default: true. */
  readonly notify?: boolean | undefined;
  /** Milliseconds between two such messages of this process; one that comes earlier is sent at their end. Default: 10. */
  readonly notifyEveryMs?: number | undefined;
  /**
   * Whether `claim()` keeps the order of `available_at` always (`exact`), or may let an earlier job of others wait for a
   * second while an old snapshot makes looking at everything slow (`relaxed`, JOB-25). Default: `exact`.
   */
  readonly claimOrder?: "exact" | "relaxed" | undefined;
  /** A clock that never goes back, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with every default filled in; the table quoted. */
export interface ResolvedOptions {
  readonly db: Database;
  readonly name: string;
  readonly quotedTable: string;
  readonly visibilityTimeoutSeconds: number;
  readonly maxPayloadBytes: number;
  readonly notify: boolean;
  readonly notifyEveryMs: number;
  readonly claimOrder: "exact" | "relaxed";
  readonly now: () => number;
  /** Workers of this process on this very table. */
  readonly takers: Set<Taker>;
}

const SUBJECT = "createJobTable()";
const MAX_NAME_BYTES = 48;

const database: Kind<Database> = {
  expects: "a pool or a connection (an object with query() or connect())",
  accepts: (value): value is Database =>
    typeof value === "object" && value !== null && (isMethod(value, "query") || isMethod(value, "connect")),
};

function isMethod(value: object, name: string): boolean {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

/** @throws ConfigurationError */
export function resolveTableOptions(given: JobTableOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    db: database,
    name: withDefault(string(), DEFAULT_TABLE),
    visibilityTimeoutSeconds: withDefault(number({ min: 1, max: 86_400 }), 300),
    maxPayloadBytes: withDefault(integer({ min: 2, max: 64 * 2 ** 20 }), 2 ** 20),
    notify: withDefault(boolean(), true),
    notifyEveryMs: withDefault(integer({ min: 0, max: 60_000 }), 10),
    claimOrder: withDefault(oneOf("exact", "relaxed"), "exact"),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  return { ...resolved, quotedTable: quoted(resolved.name), takers: new Set() };
}

function quoted(table: string): string {
  const name = table.slice(table.lastIndexOf(".") + 1);
  try {
    // The names of its indexes are longer.
    if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return qualified(table);
  } catch {
    // Said below.
  }
  throw new ConfigurationError(SUBJECT, [
    { key: "name", message: `must be a name of at most ${MAX_NAME_BYTES} bytes, or schema.name` },
  ]);
}
