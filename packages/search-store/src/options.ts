import { type CalmLogger, calmLogger, type Logger } from "@svc/context";
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
import type { Embed } from "./embed.ts";
import type { StoreEvent } from "./index-care/report.ts";
import type { SpanHook } from "./span.ts";

/** Where the transaction's tenant is kept when row security is on. */
export interface StoreRowSecurity {
  /** The setting that holds the tenant of a transaction. Default `svc.tenant`. */
  readonly setting?: string | undefined;
  /** The name of the policy. Default `svc_tenant`. */
  readonly policy?: string | undefined;
}

/** What `createSearchStore` takes. */
export interface SearchStoreOptions {
  /** A pool or client of `pg`, what `openEmbedded()` answers, whatever `@svc/sql` calls a database. It stays the caller's. Required. */
  readonly db: Database;
  /** Numbers of an embedding, 1 to 4,000. Required. */
  readonly dimensions: number;
  /** The table, by name (at most 40 bytes) or `schema.name`. Default `svc_chunks`. */
  readonly table?: string | undefined;
  /** The text search configuration of PostgreSQL by which words are cut, such as `english`. Default `simple`. */
  readonly textConfig?: string | undefined;
  /** Whether embeddings are kept in two bytes a number (`half`) or four (`full`). Default `half`. */
  readonly precision?: "half" | "full" | undefined;
  /** Makes embeddings of texts that come without. Default: none, and every chunk must bring its own. */
  readonly embed?: Embed | undefined;
  /** Names the model behind `embed`: under another name a text is embedded again when it is ingested again. Default: none. */
  readonly embedder?: string | undefined;
  /** Most texts of one call of `embed`, 1 to 2,048. Default 64. */
  readonly embedBatch?: number | undefined;
  /** Seconds that one call of `embed` may take, 0.05 to 3,600. Default 30. */
  readonly embedTimeoutSeconds?: number | undefined;
  /** Keys of the metadata that get an index of their own; their values are texts of at most 500 bytes. Default none. */
  readonly filterKeys?: readonly string[] | undefined;
  /** Chunks from which on `maintainIndexes()` gives a tenant an approximate index. Default 5000. */
  readonly indexAbove?: number | undefined;
  /** Chunks below which it takes the index away again. Default 2500. */
  readonly indexBelow?: number | undefined;
  /** Whether the table gets forced row security, and every statement its tenant as a setting. Default false. */
  readonly rowSecurity?: boolean | StoreRowSecurity | undefined;
  /**
   * Milliseconds that a statement may take, and the wait for a connection of a pool, 10 to 600,000. The call rejects with a
   * `SqlDeadlineError` then, and what was sent may still take effect. An embedded database has none. Default 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * The same for each statement of `ingestBulk()`, `deleteTenant()`, `recall()` and of the calls about indexes, for each part of a
   * bulk load, and for those of `ensureSchema()` that make something, 10 to 86,400,000. Default 3,600,000.
   */
  readonly maintenanceTimeoutMs?: number | undefined;
  /**
   * Starts a span around a search and an ingest. What it throws changes nothing about them; one that hangs holds them up for a
   * second. Default: none.
   */
  readonly span?: SpanHook | undefined;
  /** Hears of indexes made and dropped. Default: nobody. */
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Gets a line for each of these events. Default: none. */
  readonly logger?: Logger | undefined;
}

/** The table where no other one is named. */
export const DEFAULT_TABLE = "svc_chunks";

/** The options with every default filled in, and the parts of SQL that follow from them. */
export interface ResolvedOptions {
  readonly db: Database;
  readonly dimensions: number;
  /** As given: `svc_chunks` or `schema.name`. */
  readonly table: string;
  /** Quoted for use in SQL. */
  readonly quotedTable: string;
  readonly textConfig: string;
  readonly precision: "half" | "full";
  /** The type of the column: `halfvec(384)` or `vector(384)`. */
  readonly vectorType: string;
  readonly embed: Embed | undefined;
  readonly embedder: string | undefined;
  readonly embedBatch: number;
  readonly embedTimeoutSeconds: number;
  readonly filterKeys: readonly string[];
  readonly indexAbove: number;
  readonly indexBelow: number;
  /** Undefined where it is off. */
  readonly rowSecurity: { readonly setting: string; readonly policy: string } | undefined;
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
  /** Of the call that these options are for; undefined where it has none. */
  readonly deadline?: Deadline | undefined;
  readonly span: SpanHook | undefined;
  readonly onEvent: ((event: StoreEvent) => void) | undefined;
  readonly logger: CalmLogger | undefined;
}

const SUBJECT = "createSearchStore()";
// The names of its indexes are longer.
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
    // An approximate index of millions of chunks takes longer to make than any other statement.
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
    logger: calmLogger(resolved.logger),
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
