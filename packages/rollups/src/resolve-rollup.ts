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
} from "./options.ts";
import { checkZone } from "./zone.ts";

// Names of the columns that every totals table has, and of system columns.
const RESERVED: ReadonlySet<string> = new Set("tenant_id month tableoid xmin cmin xmax cmax ctid".split(" "));
const MAX_TABLE_BYTES = 48;
// An index entry has at most 2,704 bytes; a tenant takes up to 1,020 of them.
const MAX_GROUP_CHARACTERS = 400;
const PLAIN_TYPES: readonly string[] = ["smallint", "integer", "bigint", "boolean", "uuid"];

/**
 * Checks the options of a rollup and returns its definition.
 * @throws ConfigurationError
 */
export function resolveRollup(given: RollupOptions): Definition {
  const options = rollupOptions.resolve(given);
  const source = sourceOptions.resolve(options.source);
  if (source.where !== undefined) checkSql("source.where", source.where);
  checkZone(options.timeZone);
  const table = options.table ?? options.name;
  if (Buffer.byteLength(table.slice(table.lastIndexOf(".") + 1)) > MAX_TABLE_BYTES) {
    throw wrong("table", `must be a name of at most ${MAX_TABLE_BYTES} bytes, or schema.name`);
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
    tenantTable: tenantTableOf(source),
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

function tenantTableOf({ tenantTable, tenantColumn }: RollupSource): string | undefined {
  if (tenantTable === undefined) return undefined;
  if (tenantColumn === null) throw wrong("source.tenantTable", "has no use where rows have no tenant");
  quoted("source.tenantTable", tenantTable, qualified);
  return tenantTable;
}

function resolveGroup(given: string, group: RollupGroup): Group {
  const subject = `groupBy.${given}`;
  const { column, type, whenNull, tooLong } = groupOptions(subject).resolve(group);
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

function resolveMeasure(given: string, measure: RollupMeasure): Measure {
  const subject = `measures.${given}`;
  const { sql, type, combine, nonAdditive } = measureOptions(subject).resolve(measure);
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

function checkNames(groups: readonly Group[], measures: readonly Measure[]): void {
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
