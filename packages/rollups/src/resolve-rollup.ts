import { ConfigurationError, type Fault, fault } from "@svc/options";
import { identifier, qualified } from "@svc/sql";
import { checkFloats, checkSql, checkWhenNull, wrong } from "./checks.ts";
import { combineOf } from "./combine.ts";
import type { Definition, Group, Measure } from "./definition.ts";
import {
  groupOptions,
  measureOptions,
  nameKind,
  type RollupGroup,
  type RollupMeasure,
  rollupOptions,
  type RollupOptions,
  type RollupSource,
  sourceOptions,
  SUBJECT,
} from "./options.ts";
import { checkZone } from "./zone.ts";

// Names of the columns that every totals table has, and of system columns.
const RESERVED: ReadonlySet<string> = new Set("tenant_id month tableoid xmin cmin xmax cmax ctid".split(" "));
const MAX_TABLE_BYTES = 48;
// An index entry has at most 2,704 bytes; a tenant takes up to 1,020 of them.
const MAX_GROUP_CHARACTERS = 400;
const PLAIN_TYPES: readonly string[] = ["smallint", "integer", "bigint", "boolean", "uuid"];

type ResolvedGroup = ReturnType<ReturnType<typeof groupOptions>["resolve"]>;
type ResolvedMeasure = ReturnType<ReturnType<typeof measureOptions>["resolve"]>;
/** Runs `work` and collects its faults, with the prefix in their keys. Returns undefined if there are faults. */
type Attempt = <T>(prefix: string, work: () => T) => T | undefined;

/**
 * Checks the options of a rollup and returns its definition.
 * @throws ConfigurationError with all faults
 */
export function resolveRollup(given: RollupOptions): Definition {
  const faults: Fault[] = [];
  const attempt: Attempt = (prefix, work) => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults.map(({ key, message }) => fault(`${prefix}${key}`, message)));
      return undefined;
    }
  };
  const options = attempt("", () => rollupOptions.resolve(given));
  // Parts of wrong options are checked too, so that one error names all faults.
  const parts: Partial<RollupOptions> = options ?? (isObject(given) ? given : {});
  const source = isObject(parts.source) ? resolveSource(attempt, parts.source) : undefined;
  if (options !== undefined) attempt("", () => checkZone(options.timeZone));
  const table = options && attempt("", () => resolveTable(options.table ?? options.name));
  const before = faults.length;
  const groups = entriesOf(parts.groupBy).map(([name, group]) => resolveGroup(attempt, name, group));
  const measures = entriesOf(parts.measures).map(([name, one]) => resolveMeasure(attempt, name, one));
  const named = { groups: groups.filter(isDefined), measures: measures.filter(isDefined) };
  if (options !== undefined && faults.length === before) attempt("", () => checkNames(named));
  if (options === undefined || source === undefined || table === undefined || faults.length > 0)
    throw new ConfigurationError(SUBJECT, faults);
  return {
    name: options.name,
    ...table,
    ...source,
    ...named,
    zone: options.timeZone,
    setting: options.tenantSetting ?? undefined,
    commandTimeoutMs: options.commandTimeoutMs,
    maintenanceTimeoutMs: options.maintenanceTimeoutMs,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function entriesOf<T>(value: Readonly<Record<string, T>> | undefined): [string, T][] {
  return isObject(value) ? Object.entries(value) : [];
}

function resolveTable(table: string): Pick<Definition, "givenTable" | "table"> {
  if (Buffer.byteLength(table.slice(table.lastIndexOf(".") + 1)) > MAX_TABLE_BYTES) {
    throw wrong("table", `must be a name of at most ${MAX_TABLE_BYTES} bytes, or schema.name`);
  }
  return { givenTable: table, table: quoted("table", table, qualified) };
}

type SourceDefinition = Pick<
  Definition,
  | "givenSource"
  | "source"
  | "givenTenant"
  | "tenant"
  | "tenantType"
  | "tenantTable"
  | "givenTime"
  | "time"
  | "where"
>;

function resolveSource(attempt: Attempt, given: RollupSource): SourceDefinition | undefined {
  const source = attempt("source.", () => sourceOptions.resolve(given));
  if (source === undefined) return undefined;
  const { table, tenantColumn, tenantType, timeColumn, where } = source;
  if (where !== undefined) attempt("", () => checkSql("source.where", where));
  const names = {
    source: attempt("", () => quoted("source.table", table, qualified)),
    tenant: attempt("", () =>
      tenantColumn === null ? undefined : quoted("source.tenantColumn", tenantColumn),
    ),
    tenantTable: attempt("", () => tenantTableOf(source)),
    time: attempt("", () => quoted("source.timeColumn", timeColumn)),
  };
  if (names.source === undefined || names.time === undefined) return undefined;
  return {
    ...names,
    source: names.source,
    time: names.time,
    givenSource: table,
    givenTenant: tenantColumn ?? undefined,
    tenantType,
    givenTime: timeColumn,
    where,
  };
}

function tenantTableOf({ tenantTable, tenantColumn }: RollupSource): string | undefined {
  if (tenantTable === undefined) return undefined;
  if (tenantColumn === null) throw wrong("source.tenantTable", "has no use where rows have no tenant");
  quoted("source.tenantTable", tenantTable, qualified);
  return tenantTable;
}

function resolveGroup(attempt: Attempt, given: string, group: RollupGroup): Group | undefined {
  const subject = `groupBy.${given}`;
  const options = attempt(`${subject}.`, () => groupOptions(subject).resolve(group));
  return options && attempt("", () => groupOf(subject, given, options));
}

function groupOf(subject: string, given: string, { column, type, whenNull, tooLong }: ResolvedGroup): Group {
  const text = /^varchar\(([1-9]\d{0,3})\)$/.exec(type);
  if (text === null && !PLAIN_TYPES.includes(type)) {
    const shown = JSON.stringify(type.slice(0, 80));
    throw wrong(`${subject}.type`, `must be varchar(n), ${PLAIN_TYPES.join(", ")}; it is ${shown}`);
  }
  const length = text === null ? undefined : Number(text[1]);
  if (whenNull !== undefined) checkWhenNull(`${subject}.whenNull`, whenNull, { type, length });
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

function resolveMeasure(attempt: Attempt, given: string, measure: RollupMeasure): Measure | undefined {
  const subject = `measures.${given}`;
  const options = attempt(`${subject}.`, () => measureOptions(subject).resolve(measure));
  return options && attempt("", () => measureOf(subject, given, options));
}

function measureOf(
  subject: string,
  given: string,
  { sql, type, combine, nonAdditive }: ResolvedMeasure,
): Measure {
  checkSql(`${subject}.sql`, sql);
  if (nonAdditive && combine !== undefined)
    throw wrong(subject, "cannot combine nonAdditive with combine; set one of them");
  const adds = nonAdditive ? undefined : (combine ?? combineOf(sql));
  if (!nonAdditive && adds === undefined) {
    throw wrong(
      subject,
      'must define how months add up: set combine: "sum", "min" or "max", or nonAdditive: true',
    );
  }
  if (adds === "sum") checkFloats(subject, type);
  return { name: given, sql: quoted(subject, given), aggregate: sql, type, combine: adds };
}

function checkNames({ groups, measures }: Pick<Definition, "groups" | "measures">): void {
  if (groups.length > 8) throw wrong("groupBy", "must have at most 8 groups");
  if (measures.length < 1 || measures.length > 50) throw wrong("measures", "must have 1 to 50 measures");
  const seen = new Set(RESERVED);
  for (const { name: each } of [...groups, ...measures]) {
    const shown = JSON.stringify(each.slice(0, 80));
    if (!nameKind.accepts(each))
      throw wrong("groupBy, measures", `${shown} is not a valid name: ${nameKind.expects}`);
    // Names that begin with svc_ are internal columns of query results.
    if (seen.has(each) || each.startsWith("svc_"))
      throw wrong("groupBy, measures", `the name ${each} is already used; choose another name`);
    seen.add(each);
  }
  const characters = groups.reduce((sum, { length = 4 }) => sum + length, 0);
  if (characters > MAX_GROUP_CHARACTERS) {
    throw wrong(
      "groupBy",
      `the groups have ${characters} characters in total; at most ${MAX_GROUP_CHARACTERS} fit into an index`,
    );
  }
}

function quoted(key: string, given: string, quote: (name: string) => string = identifier): string {
  try {
    return quote(given);
  } catch (error) {
    throw wrong(key, error instanceof Error ? error.message : "is not a valid name");
  }
}
