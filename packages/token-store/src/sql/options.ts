import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  func,
  integer,
  number,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type Database, databaseKind, qualified, tableNameKind } from "@svc/sql";
import { DEFAULT_TABLE } from "./schema.ts";

/** Options of {@link createPostgresTokenStore}. */
export interface PostgresTokenStoreOptions {
  /**
   * The database with the table: a pool of `pg`, a database of `@svc/database`, or another `Database` of `@svc/sql`. Must be
   * the primary, never a standby. The caller closes it. A single connection must not have a transaction open. Required.
   */
  readonly db: Database;
  /** The table, by name or `schema.name`. Default: `svc_auth_marks`. */
  readonly table?: string | undefined;
  /** Name of the readiness check, and of the store in log messages. Default: `token-store`. */
  readonly name?: string | undefined;
  /** Whether the service is not ready while the store is down. Default: false. */
  readonly critical?: boolean | undefined;
  /**
   * Milliseconds after which a call rejects (REV-7), including the wait for a connection. The server cancels and rolls back
   * the statement after nine tenths of this time. Default: 1,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Consecutive failures that open the circuit breaker (REV-8). Default: 3. */
  readonly breakerFailures?: number | undefined;
  /** Milliseconds for which calls are rejected while the circuit breaker is open. Default: 2,000. */
  readonly breakerCoolDownMs?: number | undefined;
  /** Minimum seconds between deletions of expired rows, which a write starts when one is due. 0: never. Default: 60. */
  readonly sweepEverySeconds?: number | undefined;
  /** Maximum number of rows that one statement deletes. Default: 500. */
  readonly sweepBatch?: number | undefined;
  /** Logs when the database stops answering, when it answers again, and when a deletion fails. Default: none. */
  readonly logger?: Logger | undefined;
  /** Monotonic clock in milliseconds for breaker, deletions and late rotations. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with their defaults filled in, and the quoted name of the table. */
export interface ResolvedOptions {
  readonly db: Database;
  readonly table: string;
  readonly quotedTable: string;
  readonly name: string;
  readonly critical: boolean;
  readonly timeoutMs: number;
  readonly breakerFailures: number;
  readonly breakerCoolDownMs: number;
  readonly sweepEverySeconds: number;
  readonly sweepBatch: number;
  readonly logger: Logger | undefined;
  readonly now: () => number;
}

const SUBJECT = "createPostgresTokenStore()";
const LONGEST_MS = 2 ** 31 - 1;
// Index names are longer than the table's name, and PostgreSQL allows 63 bytes.
const tableName = tableNameKind(48);

/** @throws ConfigurationError */
export function resolvePostgresOptions(given: PostgresTokenStoreOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    db: databaseKind,
    table: withDefault(string(), DEFAULT_TABLE),
    name: withDefault(
      string({ pattern: /^[A-Za-z0-9][\w.:-]{0,63}$/, expects: "1 to 64 letters, digits or _ . : -" }),
      "token-store",
    ),
    critical: withDefault(boolean(), false),
    timeoutMs: withDefault(number({ min: 10, max: LONGEST_MS }), 1000),
    breakerFailures: withDefault(integer({ min: 1 }), 3),
    breakerCoolDownMs: withDefault(number({ min: 0, max: LONGEST_MS }), 2000),
    sweepEverySeconds: withDefault(number({ min: 0, max: LONGEST_MS / 1000 }), 60),
    sweepBatch: withDefault(integer({ min: 1, max: 100_000 }), 500),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  if (!tableName.accepts(resolved.table)) {
    throw new ConfigurationError(SUBJECT, [{ key: "table", message: `must be ${tableName.expects}` }]);
  }
  return { ...resolved, quotedTable: qualified(resolved.table) };
}
