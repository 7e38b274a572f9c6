import { literal } from "../literal.ts";
import type { Definition, Group } from "../definition.ts";

/** The tables that all rollups of a schema share, beside the totals. */
export function sharedTables({ givenTable }: Definition): {
  readonly zones: string;
  readonly refreshes: string;
} {
  const schema = givenTable.slice(0, givenTable.lastIndexOf(".") + 1);
  return { zones: `${schema}svc_rollups`, refreshes: `${schema}svc_rollup_refreshes` };
}

/** What the totals are called in the shared tables. */
export function ownName({ givenTable }: Definition): string {
  return givenTable.slice(givenTable.lastIndexOf(".") + 1);
}

/** The rows of a tenant, whose number is that of the parameter; `$0` for none. By an index: no `is not distinct from`. */
export function ofTenant(definition: Definition, column: string | undefined, parameter: number): string {
  if (column === undefined) return "true";
  return parameter === 0 ? `${column} is null` : `${column} = $${parameter}::text::${definition.tenantType}`;
}

/** What a row of the source is grouped by: compared byte by byte, whatever the collation of its column takes for equal. */
export function groupedSql({ column, type, length, whenNull, cut }: Group): string {
  const value = `source.${column}`;
  if (length === undefined) {
    const typed = `${value}::${type}`;
    return whenNull === undefined ? typed : `coalesce(${typed}, ${literal(whenNull)}::${type})`;
  }
  const text = cut ? `left(${value}::text, ${length})` : `${value}::text`;
  return `(${whenNull === undefined ? text : `coalesce(${text}, ${literal(whenNull)})`}) collate "C"`;
}

/** `, "a", "b"`, as it follows other columns. */
export function list(columns: readonly string[]): string {
  return columns.map((column) => `, ${column}`).join("");
}

/** Whether two rows have equal values or nulls in these columns, in words that can be hashed. */
export function sameSql(columns: readonly string[], a: string, b: string): string {
  return columns
    .map(
      (column) =>
        `coalesce(${a}.${column}::text, '') = coalesce(${b}.${column}::text, '') and (${a}.${column} is null) = (${b}.${column} is null)`,
    )
    .join(" and ");
}

/** The groups and measures of rows of the source, by name and of their types; texts are still as long as they come. */
export function aggregated({ groups, measures }: Definition): string[] {
  return [
    ...groups.map((group) => `${groupedSql(group)} as ${group.sql}`),
    ...measures.map(({ sql, aggregate, type }) => `(${aggregate}\n)::${type} as ${sql}`),
  ];
}

/**
 * `and (...)` for the rows that count; a comment at its end goes no further. Of a time that is no instant, as a date, the
 * session's time zone would say which month it is in: then there is no such operator. The server looks at it when it parses
 * the statement, and never computes it.
 */
export function counted({ where, time }: Definition): string {
  const isInstant = ` and (true or tstzrange(null, null) @> source.${time})`;
  return where === undefined ? isInstant : `${isInstant} and (${where}\n)`;
}

/** Names of the groups and of the measures. */
export function namesOf({ groups, measures }: Definition): {
  readonly groups: string[];
  readonly measures: string[];
} {
  return { groups: groups.map(({ sql }) => sql), measures: measures.map(({ sql }) => sql) };
}

/** The columns of `fresh` as those of the totals: nothing is too long by now, so the cast cuts nothing. */
export function fitted({ groups, measures }: Definition): string {
  const typed = groups.map(({ sql, type, length }) =>
    length === undefined ? sql : `${sql}::${type} collate "C" as ${sql}`,
  );
  return list([...typed, ...measures.map(({ sql }) => sql)]);
}

/** For every text to group by that may be too long, the length of the longest, as columns of one row. */
export function longestSql({ groups }: Definition): string {
  const lengths = groups
    .filter(({ length, cut }) => length !== undefined && !cut)
    .map(
      ({ name, sql, length = 0 }) => `case when max(length(${sql})) > ${length} then ${literal(name)} end`,
    );
  return lengths.length === 0 ? "max(null::text)" : `coalesce(${lengths.join(", ")})`;
}
