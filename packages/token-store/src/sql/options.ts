import type { Logger } from "@svc/context";
import { defineOptions, fault, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";
import { databaseKind, tableNameKind } from "@svc/sql";
import { DEFAULT_TABLE } from "./schema.ts";

// Index names are longer than the table's name, and PostgreSQL allows 63 bytes.
const tableName = tableNameKind(48);

export const postgresTokenStoreOptions = defineOptions("createPostgresTokenStore()", {
  /**
   * The database with the table: a pool of `pg`, a database of `@svc/database`, or another `Database` of `@svc/sql`. Must be
   * the primary, never a standby. The caller closes it. A single connection must not have an open transaction. Required.
   */
  db: { kind: databaseKind },
  /** The table, by name (at most 48 bytes) or `schema.name`. Default: `svc_auth_marks`. */
  table: { kind: k.withDefault(k.string(), DEFAULT_TABLE) },
  /** Name of the readiness check, and of the store in log messages. Default: `token-store`. */
  name: { kind: k.withDefault(k.checkName, "token-store") },
  /** Whether the service is not ready while the store is down. Default: false. */
  critical: { kind: k.withDefault(k.boolean(), false) },
  /**
   * Milliseconds after which a call rejects (REV-7), including the wait for a connection. The server cancels and rolls back
   * the statement after nine tenths of this time. Default: 1,000.
   */
  timeoutMs: { kind: k.withDefault(k.number({ min: 10, max: k.LONGEST_MS }), 1000) },
  /** Consecutive failures that open the circuit breaker (REV-8). Default: 3. */
  breakerFailures: { kind: k.withDefault(k.integer({ min: 1 }), 3) },
  /** Milliseconds for which calls are rejected while the circuit breaker is open. Default: 2,000. */
  breakerCoolDownMs: { kind: k.withDefault(k.number({ min: 0, max: k.LONGEST_MS }), 2000) },
  /** Minimum seconds between deletions of expired rows, which a write starts when one is due. 0: never. Default: 60. */
  sweepEverySeconds: { kind: k.withDefault(k.number({ min: 0, max: k.LONGEST_MS / 1000 }), 60) },
  /** Maximum number of rows that one statement deletes. Default: 500. */
  sweepBatch: { kind: k.withDefault(k.integer({ min: 1, max: 100_000 }), 500) },
  /** Logs when the database stops responding, when it responds again, and when a deletion fails. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error")) },
  /** Monotonic clock in milliseconds for breaker, deletions and late rotations. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
}).withCheck(({ table }) =>
  tableName.accepts(table) ? [] : [fault("table", `must be ${tableName.expects}`)],
);

/** Options of {@link createPostgresTokenStore}. */
export type PostgresTokenStoreOptions = OptionsOf<typeof postgresTokenStoreOptions>;

/** The options with their defaults filled in. */
export type ResolvedTokenStore = ResolvedOptions<(typeof postgresTokenStoreOptions)["keys"]>;
