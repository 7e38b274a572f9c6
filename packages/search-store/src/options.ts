import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  either,
  func,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { safeLogger } from "@svc/resilience";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  type Database,
  databaseKind,
  type Deadline,
  maintenanceTimeoutKind,
  qualified,
  tableNameKind,
} from "@svc/sql";
import type { Embed, EmbedSettings } from "./embed.ts";
import type { EventRecipients, StoreEvent } from "./index-care/report.ts";
import type { SpanHook } from "./span.ts";

/** Settings of row security. */
export interface StoreRowSecurity {
  /** Setting that holds the tenant of a transaction. Default `svc.tenant`. */
  readonly setting?: string | undefined;
  /** Name of the policy. Default `svc_tenant`. */
  readonly policy?: string | undefined;
}

/** Options of {@link createSearchStore}. */
export interface SearchStoreOptions {
  /** Pool or client of `pg`, result of `openEmbedded()`, or another `Database` of `@svc/sql`; the caller closes it. Required. */
  readonly db: Database;
  /** Length of an embedding, 1 to 4,000. Required. */
  readonly dimensions: number;
  /** Table, by name (at most 40 bytes) or `schema.name`. Default `svc_chunks`. */
  readonly table?: string | undefined;
  /** PostgreSQL text search configuration that splits texts into words, such as `english`. Default `simple`. */
  readonly textConfig?: string | undefined;
  /** Precision of stored embeddings: two bytes per number (`half`) or four (`full`). Default `half`. */
  readonly precision?: "half" | "full" | undefined;
  /** Computes embeddings for texts without one. Default: none; then every chunk needs its own. */
  readonly embed?: Embed | undefined;
  /** Name of the model behind `embed`; after a change, the next ingest embeds a text again. Default: none. */
  readonly embedder?: string | undefined;
  /** Largest number of texts per call of `embed`, 1 to 2,048. Default 64. */
  readonly embedBatch?: number | undefined;
  /** Time limit of one call of `embed` in seconds, 0.05 to 3,600. Default 30. */
  readonly embedTimeoutSeconds?: number | undefined;
  /** Metadata keys with their own index; their values are texts of at most 500 bytes. Default none. */
  readonly filterKeys?: readonly string[] | undefined;
  /** Number of chunks from which `maintainIndexes()` creates a tenant's approximate index. Default 5000. */
  readonly indexAbove?: number | undefined;
  /** Number of chunks below which it drops the index. Default 2500. */
  readonly indexBelow?: number | undefined;
  /** Whether to force row security on the table and set the tenant for every statement. Default false. */
  readonly rowSecurity?: boolean | StoreRowSecurity | undefined;
  /**
   * Milliseconds for a statement, and for the wait for a connection of a pool, 10 to 600,000. After that the call rejects with
   * a `SqlDeadlineError`; a statement that was sent may still take effect. No limit for an embedded database. Default 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * Milliseconds for each statement of `ingestBulk()`, `deleteTenant()`, `recall()` and of index operations, for each part of a
   * bulk load, and for statements of `ensureSchema()` that create something, 10 to 86,400,000. Default 3,600,000.
   */
  readonly maintenanceTimeoutMs?: number | undefined;
  /**
   * Starts a span around a search or ingest. Its errors do not affect the operation; a hook that hangs delays it by at most a
   * second. Default: none.
   */
  readonly span?: SpanHook | undefined;
  /** Receives events about created and dropped indexes. Default: none. */
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Logs each of these events. Default: none. */
  readonly logger?: Logger | undefined;
}

/** Default name of the table. */
export const DEFAULT_TABLE = "svc_chunks";

/** The options with every default filled in, and the SQL fragments derived from them. */
export interface ResolvedOptions extends EmbedSettings, EventRecipients {
  readonly db: Database;
  /** As the caller passed it: `svc_chunks` or `schema.name`. */
  readonly table: string;
  /** Quoted for use in SQL. */
  readonly quotedTable: string;
  readonly textConfig: string;
  /** Type of the column `embedding`: `halfvec(384)` or `vector(384)`. */
  readonly vectorType: string;
  readonly embedder: string | undefined;
  readonly filterKeys: readonly string[];
  readonly indexAbove: number;
  readonly indexBelow: number;
  /** Undefined if row security is off. */
  readonly rowSecurity: { readonly setting: string; readonly policy: string } | undefined;
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
  /** Deadline of the current call; undefined if it has none. */
  readonly deadline?: Deadline | undefined;
  readonly span: SpanHook | undefined;
}

const SUBJECT = "createSearchStore()";
// Leaves room for the longer names of its indexes.
const tableName = tableNameKind(40);
const MAX_KEY_BYTES = 200;
const SETTING = /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/;
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

const rowSecurity: Kind<StoreRowSecurity> = {
  expects: "an object",
  accepts: (value): value is StoreRowSecurity =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};

/** @throws ConfigurationError */
export function resolveStoreOptions(given: SearchStoreOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    db: databaseKind,
    dimensions: integer({ min: 1, max: 4000 }),
    table: withDefault(string(), DEFAULT_TABLE),
    textConfig: withDefault(
      string({
        pattern: /^[a-z_][a-z0-9_]{0,62}(?:\.[a-z_][a-z0-9_]{0,62})?$/,
        expects: "the name of a text search configuration, such as english",
      }),
      "simple",
    ),
    precision: withDefault(oneOf("half", "full"), "half"),
    embed: optional(func<Embed>()),
    embedder: optional(string()),
    embedBatch: withDefault(integer({ min: 1, max: 2048 }), 64),
    embedTimeoutSeconds: withDefault(number({ min: 0.05, max: 3600 }), 30),
    filterKeys: withDefault(listOf(string()), []),
    indexAbove: withDefault(integer({ min: 1, max: 1_000_000_000 }), 5000),
    indexBelow: withDefault(integer({ min: 0, max: 1_000_000_000 }), 2500),
    rowSecurity: withDefault(either(boolean(), rowSecurity), false),
    commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
    // Building an approximate index over millions of chunks takes longer than any other statement.
    maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, 3_600_000),
    span: optional(func<SpanHook>()),
    onEvent: optional(func<(event: StoreEvent) => void>()),
    logger: optional(objectWith<Logger>("a logger", "debug", "info", "warn", "error")),
  });
  if (resolved.indexBelow > resolved.indexAbove) {
    throw new ConfigurationError(SUBJECT, [
      { key: "indexBelow", message: `must not be above indexAbove, which is ${resolved.indexAbove}` },
    ]);
  }
  if (!tableName.accepts(resolved.table)) {
    throw new ConfigurationError(SUBJECT, [{ key: "table", message: `must be ${tableName.expects}` }]);
  }
  return {
    ...resolved,
    quotedTable: qualified(resolved.table),
    vectorType: `${resolved.precision === "half" ? "halfvec" : "vector"}(${resolved.dimensions})`,
    filterKeys: checkedKeys(resolved.filterKeys),
    rowSecurity: resolveRowSecurity(resolved.rowSecurity),
    logger: safeLogger(resolved.logger),
  };
}

function resolveRowSecurity(
  given: boolean | StoreRowSecurity,
): { readonly setting: string; readonly policy: string } | undefined {
  if (given === false) return undefined;
  const expects = "a lower-case name";
  return resolveOptions(`${SUBJECT} rowSecurity`, given === true ? {} : given, {
    setting: withDefault(
      string({ pattern: SETTING, expects: `${expects} such as svc.tenant` }),
      "svc.tenant",
    ),
    policy: withDefault(string({ pattern: NAME, expects }), "svc_tenant"),
  });
}

function checkedKeys(keys: readonly string[]): readonly string[] {
  for (const key of keys) {
    if (Buffer.byteLength(key) <= MAX_KEY_BYTES && key.isWellFormed() && !key.includes("\0")) continue;
    throw new ConfigurationError(SUBJECT, [
      { key: "filterKeys", message: `must be keys of at most ${MAX_KEY_BYTES} bytes, without NUL` },
    ]);
  }
  return [...new Set(keys)];
}
