import type { Logger, SpanHook } from "@svc/context";
import {
  defineOptions,
  fault,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions as Resolved,
} from "@svc/options";
import { safeLogger } from "@svc/resilience";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  databaseKind,
  type Deadline,
  maintenanceTimeoutKind,
  qualified,
  tableNameKind,
} from "@svc/sql";
import type { Embed } from "./embed.ts";
import { tableOptions } from "./table-options.ts";
import type { StoreEvent } from "./index-care/report.ts";

export { DEFAULT_TABLE } from "./table-options.ts";

// At most 40 bytes, which leaves room for the longer names of the table's indexes.
const tableName = tableNameKind(40);
const MAX_KEY_BYTES = 200;
const SETTING = /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/;
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

const rowSecurityOptions = defineOptions("createSearchStore() rowSecurity", {
  /** Setting that holds the tenant of a transaction. Default: `svc.tenant`. */
  setting: {
    kind: k.withDefault(
      k.string({ pattern: SETTING, expects: "two lower-case names joined by a dot, such as svc.tenant" }),
      "svc.tenant",
    ),
  },
  /** Name of the policy. Default: `svc_tenant`. */
  policy: {
    kind: k.withDefault(
      k.string({
        pattern: NAME,
        expects: "1 to 63 lower-case letters, digits and _, not beginning with a digit",
      }),
      "svc_tenant",
    ),
  },
});

/** Settings of row security. */
export type StoreRowSecurity = OptionsOf<typeof rowSecurityOptions>;

const rowSecurity: k.Kind<StoreRowSecurity> = {
  expects: "an object",
  accepts: (value): value is StoreRowSecurity =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};

const storeOptions = defineOptions("createSearchStore()", {
  /**
   * A `pg` pool or client, the result of `openEmbedded()`, or another `Database` of `@svc/sql`; the caller closes it.
   * Required.
   */
  db: { kind: databaseKind },
  ...tableOptions.keys,
  /** Computes embeddings for texts that have none. Default: none; every chunk must then include its own. */
  embed: { kind: k.optional(k.func<Embed>()) },
  /** Name of the model that `embed` uses; after a change, the next ingest embeds texts again. Default: none. */
  embedder: { kind: k.optional(k.string()) },
  /** Whether to force row security on the table and set the tenant for every statement. Default: false. */
  rowSecurity: { kind: k.withDefault(k.either(k.boolean(), rowSecurity), false) },
  /**
   * Time limit for a statement, and for waiting for a pool connection, in milliseconds, 10 to 600,000. After that the call
   * rejects with a `SqlDeadlineError`; a statement that was sent may still take effect. No limit for an embedded database.
   * Default: 15,000.
   */
  commandTimeoutMs: { kind: k.withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS) },
  /**
   * Time limit in milliseconds, 10 to 86,400,000, for each statement of `ingestBulk()`, `deleteTenant()`, `recall()` and of
   * index operations, for each part of a bulk load, and for statements of `ensureSchema()` that create something. Default:
   * 3,600,000.
   */
  // Building an approximate index over millions of chunks takes longer than any other statement.
  maintenanceTimeoutMs: { kind: k.withDefault(maintenanceTimeoutKind, 3_600_000) },
  /**
   * Starts the internal span `rag.search` or `rag.ingest` around a search or ingest. Errors of the hook do not affect the
   * operation; a hook that hangs delays it by at most a second before it and a second after it. Default: none.
   */
  span: { kind: k.optional(k.func<SpanHook>()) },
  /** Receives events about created and dropped indexes. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: StoreEvent) => void>()) },
  /** Logs the events that `onEvent` receives. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error")) },
}).withCheck(function* ({ table, filterKeys, indexAbove, indexBelow }, name) {
  if (indexBelow > indexAbove)
    yield fault("indexBelow", `must not be above ${name("indexAbove")}, which is ${indexAbove}`);
  if (!tableName.accepts(table)) yield fault("table", `must be ${tableName.expects}`);
  if (!filterKeys.every(isKey))
    yield fault("filterKeys", `must be keys of at most ${MAX_KEY_BYTES} bytes, without NUL`);
});

/** Options of {@link createSearchStore}. */
export type SearchStoreOptions = OptionsOf<typeof storeOptions>;

/** The options with every default filled in, and the SQL fragments derived from them. */
export interface ResolvedOptions extends Omit<Resolved<(typeof storeOptions)["keys"]>, "rowSecurity"> {
  /** Quoted for use in SQL. */
  readonly quotedTable: string;
  /** Type of the column `embedding`: `halfvec(384)` or `vector(384)`. */
  readonly vectorType: string;
  /** Undefined if row security is off. */
  readonly rowSecurity: Resolved<(typeof rowSecurityOptions)["keys"]> | undefined;
  /** Deadline of the current call; undefined if it has none. */
  readonly deadline?: Deadline | undefined;
}

/** @throws ConfigurationError */
export function resolveStoreOptions(given: SearchStoreOptions): ResolvedOptions {
  const resolved = storeOptions.resolve(given);
  const { table, precision, dimensions, filterKeys, rowSecurity: security, logger } = resolved;
  return {
    ...resolved,
    quotedTable: qualified(table),
    vectorType: `${precision === "half" ? "halfvec" : "vector"}(${dimensions})`,
    filterKeys: [...new Set(filterKeys)],
    rowSecurity:
      security === false ? undefined : rowSecurityOptions.resolve(security === true ? {} : security),
    logger: safeLogger(logger),
  };
}

function isKey(key: string): boolean {
  return Buffer.byteLength(key) <= MAX_KEY_BYTES && key.isWellFormed() && !key.includes("\0");
}
