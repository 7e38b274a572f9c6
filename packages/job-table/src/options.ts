import {
  boolean,
  ConfigurationError,
  func,
  integer,
  number,
  oneOf,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type Database, databaseKind, qualified, tableNameKind } from "@svc/sql";
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
  /** How long the JSON of a payload may be, in bytes, with its numbers in full, up to 64 MiB. Default: 1,048,576. */
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
// The names of its indexes are longer.
const tableName = tableNameKind(48);

/** @throws ConfigurationError */
export function resolveTableOptions(given: JobTableOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    db: databaseKind,
    name: withDefault(string(), DEFAULT_TABLE),
    visibilityTimeoutSeconds: withDefault(number({ min: 1, max: 86_400 }), 300),
    maxPayloadBytes: withDefault(integer({ min: 2, max: 64 * 2 ** 20 }), 2 ** 20),
    notify: withDefault(boolean(), true),
    notifyEveryMs: withDefault(integer({ min: 0, max: 60_000 }), 10),
    claimOrder: withDefault(oneOf("exact", "relaxed"), "exact"),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  if (!tableName.accepts(resolved.name)) {
    throw new ConfigurationError(SUBJECT, [{ key: "name", message: `must be ${tableName.expects}` }]);
  }
  return { ...resolved, quotedTable: qualified(resolved.name), takers: new Set() };
}
