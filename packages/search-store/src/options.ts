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
import { type Database, qualified } from "@svc/sql";
import type { Embed, SearchStoreOptions, SpanHook, StoreEvent, StoreRowSecurity } from "./types.ts";

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
  readonly span: SpanHook | undefined;
  readonly onEvent: ((event: StoreEvent) => void) | undefined;
  readonly logger: Logger | undefined;
}

const SUBJECT = "createSearchStore()";
// The names of its indexes are longer.
const MAX_NAME_BYTES = 40;
const MAX_KEY_BYTES = 200;
const SETTING = /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/;
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

const database: Kind<Database> = {
  expects: "a pool or a connection (an object with query() or connect())",
  accepts: (value): value is Database =>
    typeof value === "object" && value !== null && (isMethod(value, "query") || isMethod(value, "connect")),
};

const rowSecurity: Kind<StoreRowSecurity> = {
  expects: "an object",
  accepts: (value): value is StoreRowSecurity =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};

function isMethod(value: object, name: string): boolean {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

/** @throws ConfigurationError */
export function resolveStoreOptions(given: SearchStoreOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    db: database,
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
    span: optional(func<SpanHook>()),
    onEvent: optional(func<(event: StoreEvent) => void>()),
    logger: optional(objectWith<Logger>("a logger", "debug", "info", "warn", "error")),
  });
  if (resolved.indexBelow > resolved.indexAbove) {
    throw new ConfigurationError(SUBJECT, [
      { key: "indexBelow", message: `must not be above indexAbove, which is ${resolved.indexAbove}` },
    ]);
  }
  return {
    ...resolved,
    quotedTable: quoted(resolved.table),
    vectorType: `${resolved.precision === "half" ? "halfvec" : "vector"}(${resolved.dimensions})`,
    filterKeys: checkedKeys(resolved.filterKeys),
    rowSecurity: resolveRowSecurity(resolved.rowSecurity),
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

function quoted(table: string): string {
  const name = table.slice(table.lastIndexOf(".") + 1);
  try {
    if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return qualified(table);
  } catch {
    // Said below.
  }
  throw new ConfigurationError(SUBJECT, [
    { key: "table", message: `must be a name of at most ${MAX_NAME_BYTES} bytes, or schema.name` },
  ]);
}
