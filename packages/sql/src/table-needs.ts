import { qualified } from "./identifier.ts";
import { literal } from "./literal.ts";
import type { SchemaOptions } from "./schema-options.ts";

/** A required index, which may have any name. */
export interface TableIndex {
  /** Leading columns. Required. */
  readonly columns: readonly string[];
  /** Set for a partial index over the rows with this `status`. Default: the index covers all rows. */
  readonly status?: string | undefined;
}

/** Requirements of a table beyond its columns. */
export interface TableNeeds {
  /** Column that is unique on its own, with a deterministic collation. Required. */
  readonly key: string;
  /** Indexes that the table must have. Required. */
  readonly indexes: readonly TableIndex[];
  /** Columns that must accept null. Required. */
  readonly nullable: readonly string[];
  /** Requires a table without partitions or child tables, for code that finds a row again by its `ctid`. Default: false. */
  readonly isOrdinary?: boolean | undefined;
}

/**
 * Returns the query and messages with which `ensureSchema()` checks more than the columns of an existing table, which may
 * have been created by hand.
 *
 * @param table name of the table, or `schema.name`
 * @throws IdentifierError, OptionError
 */
export function tableNeeds(
  table: string,
  needs: TableNeeds,
): Required<Pick<SchemaOptions, "isPresent" | "needs">> {
  const { key, indexes, nullable, isOrdinary = false } = needs;
  const relation = `to_regclass(${literal(qualified(table))})`;
  const asked: (readonly [sql: string, words: string])[] = [
    [
      `bool_or(index.indisunique and index.indpred is null and index.indnkeyatts = 1
    and attribute.attname = ${literal(key)} and compared.collisdeterministic)`,
      `${table} needs a primary key or unique index on ${key} alone, with a deterministic collation`,
    ],
    ...indexes.map(
      (index) => [`bool_or(${isIndex(index)})`, `${table} needs an index on ${inWords(index)}`] as const,
    ),
  ];
  if (nullable.length > 0) {
    asked.push([
      `not exists (
    select from pg_catalog.pg_attribute where attrelid = ${relation} and attnotnull
    and attname in (${nullable.map(literal).join(", ")})
  )`,
      `${nullable.join(", ")} of ${table} must be nullable`,
    ]);
  }
  if (isOrdinary) {
    asked.unshift([
      `(select relkind from pg_catalog.pg_class where oid = ${relation}) = 'r'
  and not exists (select from pg_catalog.pg_inherits where inhparent = ${relation})`,
      `${table} must be an ordinary table, without partitions or child tables`,
    ]);
  }
  // The aggregates return one row for any set of indexes, with one column for each requirement.
  return {
    isPresent: `
select ${asked.map(([sql], at) => `${sql} as need_${at}`).join(",\n  ")}
from pg_catalog.pg_index as index
join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = index.indrelid and attribute.attnum = index.indkey[0]
left join pg_catalog.pg_collation as compared on compared.oid = attribute.attcollation
where index.indrelid = ${relation} and index.indisvalid and index.indimmediate`,
    needs: asked.map(([, words]) => words),
  };
}

// PostgreSQL stores every form of the condition in one normalized form.
function isIndex({ columns, status }: TableIndex): string {
  const begins = columns.map(
    (column, at) => `pg_get_indexdef(index.indexrelid, ${at + 1}, true) = quote_ident(${literal(column)})`,
  );
  const holds =
    status === undefined
      ? "index.indpred is null"
      : `pg_get_expr(index.indpred, index.indrelid)
      ~ $svc$^\\(*status\\)?(::text)?\\)? = '${status}'::(text|character varying)(::text)?\\)*$$svc$`;
  return [...begins, holds].join(" and ");
}

function inWords({ columns, status }: TableIndex): string {
  return `(${columns.join(", ")})${status === undefined ? "" : ` where status = '${status}'`}`;
}
