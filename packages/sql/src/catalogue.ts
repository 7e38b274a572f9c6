import type { Queryable } from "./queryable.ts";
import type { ResolvedSchema, Wanted } from "./schema-options.ts";

// Relations with columns that are not tables but may have the name of a required table.
const NO_TABLE: Readonly<Record<string, string>> = {
  v: "a view",
  m: "a materialized view",
  f: "a foreign table",
  c: "a type",
};

// Reading the catalogues locks only the catalogues (ACCESS SHARE), not the relations that they describe. to_regclass()
// also sees commits after the query's snapshot; the join with pg_class hides a table whose columns are not in the
// snapshot.
const SELECT_COLUMNS = `
select wanted.sql as relation, class.oid is not null as present, class.relkind as kind,
  attribute.attname as name, format_type(attribute.atttypid, null) as type,
  attribute.attnotnull and not attribute.atthasdef and attribute.attidentity = '' as required
from unnest($1::text[]) as wanted (sql)
left join pg_catalog.pg_class as class on class.oid = to_regclass(wanted.sql)
left join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = class.oid and attribute.attnum > 0 and not attribute.attisdropped`;

// `timestamptz` and `timestamp with time zone` are the same type; an unknown type has no name.
const SELECT_TYPES = `
select type, format_type(to_regtype(type), null) as name from unnest($1::text[]) as type where to_regtype(type) is not null`;

interface ColumnRow extends Record<string, unknown> {
  readonly relation: string;
  readonly present: boolean;
  readonly kind: string | null;
  readonly name: string | null;
  readonly type: string;
  readonly required: boolean;
}

/**
 * Returns how a schema in the database differs from the required schema: missing relations, conditions of `isPresent` that
 * are not met, and relations that exist but differ. Takes no lock above ACCESS SHARE.
 */
export async function inspect(db: Queryable, schema: ResolvedSchema) {
  const { wanted } = schema;
  const missing: string[] = [];
  const faults: string[] = [];
  const rows = (await db.query<ColumnRow>(SELECT_COLUMNS, [wanted.map((each) => each.sql)])).rows;
  const types = await typeNames(db, wanted);
  for (const relation of wanted) {
    const found = rows.filter((row) => row.relation === relation.sql);
    if (found.some((row) => row.present)) faults.push(...compare(relation, found, types));
    else missing.push(relation.name);
  }
  // Run the query `isPresent` only when no relation is missing, because it may name relations that do not exist yet.
  const unmet = missing.length === 0 ? await unmetNeeds(db, schema) : [];
  // A view may replace a table as long as no statement has to run.
  for (const { sql, name, columns } of unmet.length === 0 ? [] : wanted) {
    const kind = NO_TABLE[rows.find((row) => row.relation === sql)?.kind ?? ""];
    if (kind !== undefined && Object.keys(columns).length > 0)
      faults.push(`${name} must be a table; it is ${kind}`);
  }
  return { missing, unmet, faults };
}

async function unmetNeeds(db: Queryable, { isPresent, needs }: ResolvedSchema): Promise<readonly string[]> {
  if (isPresent === undefined) return [];
  const [row] = (await db.query(isPresent)).rows;
  const answers = Object.values(row ?? {});
  if (answers.length > 0 && answers.every((answer) => answer === true)) return [];
  if (needs === undefined) return ["isPresent is still false after all statements ran"];
  return answers.length === needs.length ? needs.filter((_, at) => answers[at] !== true) : needs;
}

async function typeNames(db: Queryable, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, string>> {
  const given = new Set(wanted.flatMap(({ columns }) => Object.values(columns).flat()));
  if (given.size === 0) return new Map();
  const { rows } = await db.query<{ type: string; name: string }>(SELECT_TYPES, [[...given]]);
  return new Map(rows.map(({ type, name }) => [type, name]));
}

function compare(
  { name: table, columns }: Wanted,
  found: readonly ColumnRow[],
  types: ReadonlyMap<string, string>,
): string[] {
  const faults: string[] = [];
  for (const [column, type] of Object.entries(columns)) {
    const allowed = [type].flat();
    const actual = found.find((row) => row.name === column);
    if (actual === undefined) {
      faults.push(`${table}.${column} is missing; it must be ${allowed.join(" or ")}`);
    } else if (!allowed.some((each) => types.get(each) === actual.type)) {
      faults.push(`${table}.${column} must be ${allowed.join(" or ")}; it is ${actual.type}`);
    }
  }
  if (Object.keys(columns).length === 0) return faults;
  for (const { name, required } of found) {
    if (required && name !== null && !Object.hasOwn(columns, name)) {
      faults.push(`${table}.${name} is an unexpected column without a default, so no row can be inserted`);
    }
  }
  return faults;
}
