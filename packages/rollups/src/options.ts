import {
  boolean,
  ConfigurationError,
  type Kind,
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
  identifier,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  qualified,
} from "@svc/sql";
import { checkFloats, checkSql, checkWhenNull } from "./checks.ts";
import { type Combine, combineOf } from "./combine.ts";
import type { Definition, Group, Measure, TenantType } from "./definition.ts";
import { checkZone } from "./zone.ts";

/** The source: the rows to add up. */
export interface RollupSource {
  /** Name of the table, or `schema.name`. Required. */
  readonly table: string;
  /** Column with the tenant; null if rows have no tenant, and every call passes `tenant: null`. Required. */
  readonly tenantColumn: string | null;
  /** Type of that column: `text` (also for `varchar`), `uuid`, `integer` or `bigint`. Default: `text`. */
  readonly tenantType?: TenantType | undefined;
  /** Column of type `timestamptz` that determines the month of a row. Required. */
  readonly timeColumn: string;
  /** SQL condition for the rows to count, where the table is `source`; never build it from a request. Default: all rows. */
  readonly where?: string | undefined;
}

/** A column to group totals by. */
export interface RollupGroup {
  /** Column of the source. Required. */
  readonly column: string;
  /** `varchar(n)`, `smallint`, `integer`, `bigint`, `boolean` or `uuid`. Default: `varchar(64)`. */
  readonly type?: string | undefined;
  /** Value to use for NULL. Default: none; NULL is a group of its own (ROLL-6). */
  readonly whenNull?: string | undefined;
  /**
   * How to treat a text of more than `n` characters: `refuse` throws and leaves the bucket unchanged, `cut` adds it to the
   * group of its first `n` characters. Default: `refuse`.
   */
  readonly tooLong?: "refuse" | "cut" | undefined;
}

/** A figure computed by an aggregate. */
export interface RollupMeasure {
  /** SQL aggregate over rows of the table, named `source`; never build it from a request. Required. */
  readonly sql: string;
  /** Type of the result, for example `numeric(14, 2)`. A sum must not be `real` or `double precision`. Required. */
  readonly type: string;
  /** How to combine months. Default: derived from a single `count`, `sum`, `min` or `max`; otherwise required. */
  readonly combine?: Combine | undefined;
  /** Set if months and groups cannot be combined, as with `count(distinct ...)` and averages. Default: false. */
  readonly nonAdditive?: boolean | undefined;
}

/** Options of {@link defineRollup}. */
export interface RollupOptions {
  /** Lower-case letters, digits and underscores, at most 40; the task of its jobs is `rollup.refresh.<name>`. Required. */
  readonly name: string;
  /** Table of totals, by name (at most 48 bytes) or `schema.name`. Default: the name. */
  readonly table?: string | undefined;
  /** The rows to add up. Required. */
  readonly source: RollupSource;
  /** Columns to group by, keyed by their name in the table of totals; up to 8. Default: none. */
  readonly groupBy?: Readonly<Record<string, RollupGroup>> | undefined;
  /** Figures, keyed by their name in the table of totals; 1 to 50. Required. */
  readonly measures: Readonly<Record<string, RollupMeasure>>;
  /** Time zone that defines the months, for example `Europe/Berlin` (ROLL-4). Required. */
  readonly timeZone: string;
  /**
   * Setting from which row security reads the tenant; null if the policies work differently: then nothing is set or checked.
   * Default: `svc.tenant`.
   */
  readonly tenantSetting?: string | null | undefined;
  /**
   * Milliseconds for a statement, and for the wait for a connection of a pool, 10 to 600,000. After that the call rejects with
   * a `SqlDeadlineError`; a statement that was sent may still take effect. Default: 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * Milliseconds for each statement of `rebuild()`, `rebuildAll()` and `verify()`, and for those of `ensureSchema()` that
   * create something, 10 to 86,400,000. Default: 600,000.
   */
  readonly maintenanceTimeoutMs?: number | undefined;
}

const SUBJECT = "defineRollup()";
const NAME = /^[a-z][a-z0-9_]{0,39}$/;
// Columns that every table of totals has, and system columns.
const RESERVED: ReadonlySet<string> = new Set("tenant_id month tableoid xmin cmin xmax cmax ctid".split(" "));
const MAX_TABLE_BYTES = 48;
// An index entry has at most 2,704 bytes; a tenant takes up to 1,020 of them.
const MAX_GROUP_CHARACTERS = 400;
const MEASURE_TYPE = /^[a-z][a-z0-9]*(?: precision)?(?:\(\s*\d{1,4}\s*(?:,\s*\d{1,4}\s*)?\))?$/;
const PLAIN_TYPES: readonly string[] = ["smallint", "integer", "bigint", "boolean", "uuid"];

const members = objectWith<Record<string, object>>("an object");
const name = string({
  pattern: NAME,
  expects: "up to 40 lower-case letters, digits and underscores, a letter first",
});
const nullOr = <T>(kind: Kind<T>): Kind<T | null> => ({
  expects: `${kind.expects}, or null`,
  accepts: (value): value is T | null => value === null || kind.accepts(value),
});

/** @throws ConfigurationError */
export function resolveRollup(given: RollupOptions): Definition {
  const options = resolveOptions(SUBJECT, given, {
    name,
    table: optional(string()),
    source: objectWith<RollupSource>("an object with table, tenantColumn and timeColumn"),
    groupBy: withDefault(members, {}),
    measures: members,
    timeZone: string(),
    tenantSetting: withDefault(
      nullOr(string({ pattern: /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i, expects: "a name as svc.tenant" })),
      "svc.tenant",
    ),
    commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
    maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
  });
  const source = resolveOptions(`${SUBJECT} source`, options.source, {
    table: string(),
    tenantColumn: nullOr(string()),
    tenantType: withDefault(oneOf("text", "uuid", "integer", "bigint"), "text"),
    timeColumn: string(),
    where: optional(string()),
  });
  if (source.where !== undefined) checkSql(SUBJECT, "source.where", source.where);
  checkZone(SUBJECT, options.timeZone);
  const table = options.table ?? options.name;
  if (Buffer.byteLength(table.slice(table.lastIndexOf(".") + 1)) > MAX_TABLE_BYTES) {
    throw fault("table", `must be a name of at most ${MAX_TABLE_BYTES} bytes, or schema.name`);
  }
  const groups = Object.entries(options.groupBy).map(([each, group]) =>
    resolveGroup(each, group as RollupGroup),
  );
  const measures = Object.entries(options.measures).map(([each, one]) =>
    resolveMeasure(each, one as RollupMeasure),
  );
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
  const { column, type, whenNull, tooLong } = resolveOptions(`${SUBJECT} ${subject}`, group, {
    column: string(),
    type: withDefault(string(), "varchar(64)"),
    whenNull: optional(string({ allowEmpty: true })),
    tooLong: withDefault(oneOf("refuse", "cut"), "refuse"),
  });
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
  const { sql, type, combine, nonAdditive } = resolveOptions(`${SUBJECT} ${subject}`, measure, {
    sql: string({ pattern: /\S/, expects: "an aggregate, as sum(amount)" }),
    type: string({ pattern: MEASURE_TYPE, expects: "a type, as numeric(14, 2)" }),
    combine: optional(oneOf("sum", "min", "max")),
    nonAdditive: withDefault(boolean(), false),
  });
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
