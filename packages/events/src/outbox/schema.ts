import { type Columns, type Database, ensureSchema, qualified, SchemaError } from "@svc/sql";
import type { Migration } from "../query.ts";

const TEXT = ["text", "varchar"];

// The fourteen columns (OUT-4), with what a table made by hand may have instead.
const COLUMNS: Columns = {
  id: TEXT,
  kind: TEXT,
  destination: TEXT,
  payload: "jsonb",
  message_key: TEXT,
  request_id: TEXT,
  tenant_id: TEXT,
  trace: ["jsonb", "json"],
  status: TEXT,
  attempts: ["integer", "bigint", "smallint"],
  available_at: "timestamptz",
  created_at: "timestamptz",
  published_at: "timestamptz",
  last_error: TEXT,
};

const NULLABLE = ["message_key", "request_id", "tenant_id", "trace", "published_at", "last_error"];

/** The statements that make the table and its three indexes: of what waits, in the order of every key; of what is over. */
export function outboxStatements(table: string): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  const index = (suffix: string): string =>
    `create index if not exists ${qualified(`${name}_${suffix}_idx`)} on ${sql}`;
  return [
    `create table if not exists ${sql} (
  id text collate "C" primary key,
  kind text not null default 'event',
  destination text not null,
  payload jsonb not null,
  message_key text collate "C",
  request_id text,
  tenant_id text,
  trace jsonb,
  status text not null default 'pending',
  attempts integer not null default 0,
  available_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  published_at timestamptz,
  last_error text
)`,
    `${index("pending")} (message_key, created_at, id) where status = 'pending'`,
    `${index("published")} (published_at) where status = 'published'`,
    `${index("dead")} (created_at) where status = 'dead'`,
  ];
}

export function outboxMigrations(table: string): readonly Migration[] {
  return [{ name: `0001_${table.replaceAll(/\W/g, "_")}`, statements: outboxStatements(table) }];
}

/** @throws SchemaError for a table that is another one, naming its columns */
export async function ensureOutbox(db: Database, table: string): Promise<"present" | "created"> {
  const name = `outbox/${table}`;
  const sql = qualified(table).replaceAll("'", "''");
  try {
    return await ensureSchema(db, {
      name,
      tables: { [table]: COLUMNS },
      isPresent: isPresent(sql),
      statements: outboxStatements(table),
    });
  } catch (error) {
    // The columns are right then, and what is missing cannot be made beside what is there.
    if (!(error instanceof SchemaError) || !error.faults.some((fault) => fault.includes("isPresent")))
      throw error;
    throw new SchemaError(name, [
      `${table} needs a primary key or unique index of id alone, of a deterministic collation`,
      `${table} needs the indexes (message_key, created_at, id) where status = 'pending', ` +
        "(published_at) where status = 'published' and (created_at) where status = 'dead'",
      `${NULLABLE.join(", ")} of ${table} must take null`,
    ]);
  }
}

/** Whatever the indexes are called, and however the condition was written: PostgreSQL keeps it in one form. */
function isPresent(sql: string): string {
  const partial = (status: string, ...columns: string[]): string => `bool_or(
    ${columns.map((column, at) => `pg_get_indexdef(index.indexrelid, ${at + 1}, true) = '${column}'`).join(" and ")}
      and pg_get_expr(index.indpred, index.indrelid)
      ~ $svc$^\\(*status\\)?(::text)?\\)? = '${status}'::(text|character varying)(::text)?\\)*$$svc$
  )`;
  return `
select bool_or(index.indisunique and index.indpred is null and index.indnkeyatts = 1 and attribute.attname = 'id'
    and compared.collisdeterministic)
  and ${partial("pending", "message_key", "created_at", "id")}
  and ${partial("published", "published_at")}
  and ${partial("dead", "created_at")}
  and not exists (
    select from pg_catalog.pg_attribute where attrelid = to_regclass('${sql}') and attnotnull
    and attname in (${NULLABLE.map((column) => `'${column}'`).join(", ")})
  )
from pg_catalog.pg_index as index
join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = index.indrelid and attribute.attnum = index.indkey[0]
left join pg_catalog.pg_collation as compared on compared.oid = attribute.attcollation
where index.indrelid = to_regclass('${sql}') and index.indisvalid and index.indimmediate`;
}
