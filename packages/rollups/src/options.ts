import {
  boolean,
  ConfigurationError,
  defineOptions,
  type Kind,
  objectWith,
  oneOf,
  optional,
  type OptionsOf,
  string,
  withDefault,
} from "@svc/options";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  identifier,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  qualified,
} from "@svc/sql";
import { checkFloats, checkSql, checkWhenNull } from "./checks.ts";
import { combineOf } from "./combine.ts";
import type { Definition, Group, Measure } from "./definition.ts";
import { checkZone } from "./zone.ts";

const SUBJECT = "defineRollup()";
const NAME = /^[a-z][a-z0-9_]{0,39}$/;
// Columns that every table of totals has, and system columns.
const RESERVED: ReadonlySet<string> = new Set("tenant_id month tableoid xmin cmin xmax cmax ctid".split(" "));
const MAX_TABLE_BYTES = 48;
// An index entry has at most 2,704 bytes; a tenant takes up to 1,020 of them.
const MAX_GROUP_CHARACTERS = 400;
const MEASURE_TYPE = /^[a-z][a-z0-9]*(?: precision)?(?:\(\s*\d{1,4}\s*(?:,\s*\d{1,4}\s*)?\))?$/;
const PLAIN_TYPES: readonly string[] = ["smallint", "integer", "bigint", "boolean", "uuid"];

const membersOf = <T>(): Kind<Readonly<Record<string, T>>> => objectWith("an object");
const name = string({
  pattern: NAME,
  expects: "up to 40 lower-case letters, digits and underscores, a letter first",
});
const nullOr = <T>(kind: Kind<T>): Kind<T | null> => ({
  expects: `${kind.expects}, or null`,
  accepts: (value): value is T | null => value === null || kind.accepts(value),
});

const sourceOptions = defineOptions(`${SUBJECT} source`, {
  /** Name of the table, or `schema.name`. Required. */
  table: { kind: string() },
  /** Column with the tenant; null if rows have no tenant, and every call passes `tenant: null`. Required. */
  tenantColumn: { kind: nullOr(string()) },
  /** Type of that column: `text` (also for `varchar`), `uuid`, `integer` or `bigint`. Default: `text`. */
  tenantType: { kind: withDefault(oneOf("text", "uuid", "integer", "bigint"), "text") },
  /** Column of type `timestamptz` that determines the month of a row. Required. */
  timeColumn: { kind: string() },
  /** SQL condition for the rows to count, where the table is `source`; never build it from a request. Default: all rows. */
  where: { kind: optional(string()) },
});

/** The source: the rows to add up. */
export type RollupSource = OptionsOf<typeof sourceOptions>;

function groupOptions(subject: string) {
  return defineOptions(`${SUBJECT} ${subject}`, {
    /** Column of the source. Required. */
    column: { kind: string() },
    /** `varchar(n)`, `smallint`, `integer`, `bigint`, `boolean` or `uuid`. Default: `varchar(64)`. */
    type: { kind: withDefault(string(), "varchar(64)") },
    /** Value to use for NULL. Default: none; NULL is a separate group (ROLL-6). */
    whenNull: { kind: optional(string({ allowEmpty: true })) },
    /**
     * How to treat a text of more than `n` characters: `refuse` throws and leaves the bucket unchanged, `cut` adds it to the
     * group of its first `n` characters. Default: `refuse`.
     */
    tooLong: { kind: withDefault(oneOf("refuse", "cut"), "refuse") },
  });
}

/** A column to group totals by. */
export type RollupGroup = OptionsOf<ReturnType<typeof groupOptions>>;

function measureOptions(subject: string) {
  return defineOptions(`${SUBJECT} ${subject}`, {
    /** SQL aggregate over rows of the table, named `source`; never build it from a request. Required. */
    sql: { kind: string({ pattern: /\S/, expects: "an aggregate, as sum(amount)" }) },
    /** Type of the result, for example `numeric(14, 2)`. A sum must not be `real` or `double precision`. Required. */
    type: { kind: string({ pattern: MEASURE_TYPE, expects: "a type, as numeric(14, 2)" }) },
    /** How to combine months. Default: derived from a single `count`, `sum`, `min` or `max`; otherwise required. */
    combine: { kind: optional(oneOf("sum", "min", "max")) },
    /** Set if months and groups cannot be combined, as with `count(distinct ...)` and averages. Default: false. */
    nonAdditive: { kind: withDefault(boolean(), false) },
  });
}

/** A figure computed by an aggregate. */
export type RollupMeasure = OptionsOf<ReturnType<typeof measureOptions>>;

const rollupOptions = defineOptions(SUBJECT, {
  /** Lower-case letters, digits and underscores, at most 40; the task of its jobs is `rollup.refresh.<name>`. Required. */
  name: { kind: name },
  /** Table of totals, by name (at most 48 bytes) or `schema.name`. Default: the name. */
  table: { kind: optional(string()) },
  /** The rows to add up. Required. */
  source: { kind: objectWith<RollupSource>("an object with table, tenantColumn and timeColumn") },
  /** Columns to group by, keyed by their name in the table of totals; up to 8. Default: none. */
  groupBy: { kind: withDefault(membersOf<RollupGroup>(), {}) },
  /** Figures, keyed by their name in the table of totals; 1 to 50. Required. */
  measures: { kind: membersOf<RollupMeasure>() },
  /** Time zone that defines the months, for example `Europe/Berlin` (ROLL-4). Required. */
  timeZone: { kind: string() },
  /**
   * Setting from which row security reads the tenant; null if the policies work differently: then nothing is set or checked.
   * Default: `svc.tenant`.
   */
  tenantSetting: {
    kind: withDefault(
      nullOr(string({ pattern: /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i, expects: "a name as svc.tenant" })),
      "svc.tenant",
    ),
  },
  /**
   * Milliseconds for a statement, and for the wait for a connection of a pool, 10 to 600,000. After that the call rejects with
   * a `SqlDeadlineError`; a statement that was sent may still take effect. Default: 15,000.
   */
  commandTimeoutMs: { kind: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS) },
  /**
   * Milliseconds for each statement of `rebuild()`, `rebuildAll()` and `verify()`, and for those of `ensureSchema()` that
   * create something, 10 to 86,400,000. Default: 600,000.
   */
  maintenanceTimeoutMs: { kind: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS) },
});

/** Options of {@link defineRollup}. */
export type RollupOptions = OptionsOf<typeof rollupOptions>;

/** @throws ConfigurationError */
export function resolveRollup(given: RollupOptions): Definition {
  const options = rollupOptions.resolve(given);
  const source = sourceOptions.resolve(options.source);
  if (source.where !== undefined) checkSql(SUBJECT, "source.where", source.where);
  checkZone(SUBJECT, options.timeZone);
  const table = options.table ?? options.name;
  if (Buffer.byteLength(table.slice(table.lastIndexOf(".") + 1)) > MAX_TABLE_BYTES) {
    throw fault("table", `must be a name of at most ${MAX_TABLE_BYTES} bytes, or schema.name`);
  }
  const groups = Object.entries(options.groupBy).map(([each, group]) => resolveGroup(each, group));
  const measures = Object.entries(options.measures).map(([each, one]) => resolveMeasure(each, one));
  checkNames(groups, measures);
  return {
    name: options.name,
    givenTable: table,
    table: quoted("table", table, qualified),
    givenSource: source.table,
    source: quoted("source.table", source.table, qualified),
    givenTenant: source.tenantColumn ?? undefined,
    tenant: source.tenantColumn === null ? undefined : quoted("source.tenantColumn", source.tenantColumn),
    tenantType: source.tenantType,
    givenTime: source.timeColumn,
    time: quoted("source.timeColumn", source.timeColumn),
    where: source.where,
    groups,
    measures,
    zone: options.timeZone,
    setting: options.tenantSetting ?? undefined,
    commandTimeoutMs: options.commandTimeoutMs,
    maintenanceTimeoutMs: options.maintenanceTimeoutMs,
  };
}

function resolveGroup(given: string, group: RollupGroup): Group {
  const subject = `groupBy.${given}`;
  const { column, type, whenNull, tooLong } = groupOptions(subject).resolve(group);
  const text = /^varchar\(([1-9]\d{0,3})\)$/.exec(type);
  if (text === null && !PLAIN_TYPES.includes(type)) {
    throw fault(
      `${subject}.type`,
      `must be varchar(n), ${PLAIN_TYPES.join(", ")}; it is ${JSON.stringify(type.slice(0, 80))}`,
    );
  }
  const length = text === null ? undefined : Number(text[1]);
  if (whenNull !== undefined) checkWhenNull(SUBJECT, `${subject}.whenNull`, whenNull, { type, length });
  const sql = quoted(subject, given);
  return {
    name: given,
    sql,
    column: quoted(`${subject}.column`, column),
    type,
    length,
    whenNull,
    cut: tooLong === "cut",
  };
}

function resolveMeasure(given: string, measure: RollupMeasure): Measure {
  const subject = `measures.${given}`;
  const { sql, type, combine, nonAdditive } = measureOptions(subject).resolve(measure);
  checkSql(SUBJECT, `${subject}.sql`, sql);
  if (nonAdditive && combine !== undefined)
    throw fault(subject, "is nonAdditive and has combine: it cannot be both");
  const adds = nonAdditive ? undefined : (combine ?? combineOf(sql));
  if (!nonAdditive && adds === undefined) {
    throw fault(subject, 'must say how months add up: combine: "sum", "min" or "max", or nonAdditive: true');
  }
  if (adds === "sum") checkFloats(SUBJECT, subject, type);
  return { name: given, sql: quoted(subject, given), aggregate: sql, type, combine: adds };
}

function checkNames(groups: readonly Group[], measures: readonly Measure[]): void {
  if (groups.length > 8) throw fault("groupBy", "must have at most 8 groups");
  if (measures.length < 1 || measures.length > 50) throw fault("measures", "must have 1 to 50 measures");
  const seen = new Set(RESERVED);
  for (const { name: each } of [...groups, ...measures]) {
    if (!NAME.test(each)) {
      throw fault(
        "groupBy, measures",
        `${JSON.stringify(each.slice(0, 80))} is not a valid name: up to 40 lower-case letters, digits and underscores, a letter first`,
      );
    }
    // Internal columns of query results begin with svc_.
    if (seen.has(each) || each.startsWith("svc_"))
      throw fault("groupBy, measures", `the name ${each} is taken; choose another one`);
    seen.add(each);
  }
  const characters = groups.reduce((sum, { length = 4 }) => sum + length, 0);
  if (characters > MAX_GROUP_CHARACTERS) {
    throw fault(
      "groupBy",
      `the groups have ${characters} characters together, at most ${MAX_GROUP_CHARACTERS} fit into an index`,
    );
  }
}

function quoted(key: string, given: string, quote: (name: string) => string = identifier): string {
  try {
    return quote(given);
  } catch (error) {
    throw fault(key, error instanceof Error ? error.message : "is not a valid name");
  }
}

function fault(key: string, message: string): ConfigurationError {
  return new ConfigurationError(SUBJECT, [{ key, message }]);
}
