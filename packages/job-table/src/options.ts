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
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  type Database,
  databaseKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  qualified,
  tableNameKind,
} from "@svc/sql";
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
  /**
   * Milliseconds that a call may take, its wait for a connection of the pool included, 10 to 600,000. It rejects with a
   * `SqlDeadlineError` then, and what was sent may still take effect. Default: 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /** Milliseconds that `ensureSchema()` gives each statement which makes something, 10 to 86,400,000. Default: 600,000. */
  readonly maintenanceTimeoutMs?: number | undefined;
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
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
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
    commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
    maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  if (!tableName.accepts(resolved.name)) {
    throw new ConfigurationError(SUBJECT, [{ key: "name", message: `must be ${tableName.expects}` }]);
  }
  return { ...resolved, quotedTable: qualified(resolved.name), takers: new Set() };
}
