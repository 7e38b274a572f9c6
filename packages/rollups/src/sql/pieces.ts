import { literal } from "@svc/sql";
import type { Definition, Group } from "../definition.ts";

/** Returns the names of the two tables that all rollups of a schema share. */
export function sharedTables({ givenTable }: Definition): {
  readonly zones: string;
  readonly refreshes: string;
} {
  const schema = givenTable.slice(0, givenTable.lastIndexOf(".") + 1);
  return { zones: `${schema}svc_rollups`, refreshes: `${schema}svc_rollup_refreshes` };
}

/** Returns the name under which the shared tables store data about this rollup. */
export function ownName({ givenTable }: Definition): string {
  return givenTable.slice(givenTable.lastIndexOf(".") + 1);
}

/**
 * Returns a condition for a tenant's rows, which uses `=` because `is not distinct from` could not use the index.
 * `parameter` is 0 for rows without a tenant.
 */
export function ofTenant(definition: Definition, column: string | undefined, parameter: number): string {
  if (column === undefined) return "true";
  return parameter === 0 ? `${column} is null` : `${column} = $${parameter}::text::${definition.tenantType}`;
}

/** Returns the expression to group by. Strings are compared byte by byte, regardless of the column's collation. */
export function groupedSql({ column, type, length, whenNull, cut }: Group): string {
  const value = `source.${column}`;
  if (length === undefined) {
    const typed = `${value}::${type}`;
    return whenNull === undefined ? typed : `coalesce(${typed}, ${literal(whenNull)}::${type})`;
  }
  const text = cut ? `left(${value}::text, ${length})` : `${value}::text`;
  return `(${whenNull === undefined ? text : `coalesce(${text}, ${literal(whenNull)})`}) collate "C"`;
}

/** Returns `, "a", "b"`, to append to other columns. */
export function list(columns: readonly string[]): string {
  return columns.map((column) => `, ${column}`).join("");
}

/**
 * Returns a condition that is true if the columns of two rows are equal or both null, in a form that a hash join can
 * use.
 */
export function sameSql(columns: readonly string[], a: string, b: string): string {
  return columns
    .map(
      (column) =>
        `coalesce(${a}.${column}::text, '') = coalesce(${b}.${column}::text, '') and (${a}.${column} is null) = (${b}.${column} is null)`,
    )
    .join(" and ");
}

/**
 * Returns the select expressions for the groups and measures of source rows, named and cast; group values still have
 * their full length.
 */
export function aggregated({ groups, measures }: Definition): string[] {
  return [
    ...groups.map((group) => `${groupedSql(group)} as ${group.sql}`),
    ...measures.map(({ sql, aggregate, type }) => `(${aggregate}\n)::${type} as ${sql}`),
  ];
}

/**
 * Returns `and (...)` with the conditions for rows that count; a line break ends a trailing comment in them. It
 * compares the time with a `tstzrange`, which the server rejects for a `date` column, whose month would depend on the
 * session's time zone. `true or` keeps the server from evaluating the comparison.
 */
export function counted({ where, time }: Definition): string {
  const isInstant = ` and (true or tstzrange(null, null) @> source.${time})`;
  return where === undefined ? isInstant : `${isInstant} and (${where}\n)`;
}

/** Returns the quoted names of the groups and the measures. */
export function namesOf({ groups, measures }: Definition): {
  readonly groups: string[];
  readonly measures: string[];
} {
  return { groups: groups.map(({ sql }) => sql), measures: measures.map(({ sql }) => sql) };
}

/**
 * Returns the columns of `fresh`, cast to the types of the totals. Lengths are checked first, so no value is truncated.
 */
export function fitted({ groups, measures }: Definition): string {
  const typed = groups.map(({ sql, type, length }) =>
    length === undefined ? sql : `${sql}::${type} collate "C" as ${sql}`,
  );
  return list([...typed, ...measures.map(({ sql }) => sql)]);
}

/** Returns an expression whose value is the name of a group with a value that is too long, or null. */
export function longestSql({ groups }: Definition): string {
  const lengths = groups
    .filter(({ length, cut }) => length !== undefined && !cut)
    .map(
      ({ name, sql, length = 0 }) => `case when max(length(${sql})) > ${length} then ${literal(name)} end`,
    );
  return lengths.length === 0 ? "max(null::text)" : `coalesce(${lengths.join(", ")})`;
}
