import { type Columns, type Database, ensureSchema, qualified, SchemaError } from "@svc/sql";

/** A step of the schema, for a migration tool. */
export interface Migration {
  /** Sorts after the one before it. */
  readonly name: string;
  /** Statements that do no harm where their part is there already. */
  readonly statements: readonly string[];
}

const TEXT = ["text", "varchar"];
const WHOLE = ["integer", "bigint", "smallint"];

// The thirteen columns of the contract (JOB-2), with what a table made by hand may have instead.
const COLUMNS: Columns = {
  id: TEXT,
  task: TEXT,
  payload: "jsonb",
  attempts: WHOLE,
  max_attempts: WHOLE,
  available_at: "timestamptz",
  locked_until: "timestamptz",
  request_id: TEXT,
  tenant_id: TEXT,
  status: TEXT,
  last_error: TEXT,
  created_at: "timestamptz",
  trace: ["jsonb", "json"],
};

const NULLABLE = ["locked_until", "request_id", "tenant_id", "last_error", "trace"];

/** The statements that make the table and its two indexes (JOB-24). */
export function tableStatements(table: string): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  // Ids are compared and never sorted for people; an index of this collation survives an upgrade of the system's library.
  return [
    `create table if not exists ${sql} (
  id text collate "C" primary key,
  task text not null,
  payload jsonb not null default '{}',
  attempts integer not null default 0,
  max_attempts integer not null default 3,
  available_at timestamptz not null default now(),
  locked_until timestamptz,
  request_id text,
  tenant_id text,
  status text not null default 'pending',
  last_error text,
  created_at timestamptz not null default now(),
  trace jsonb
)`,
    `create index if not exists ${qualified(`${name}_pending_idx`)} on ${sql} (available_at) where status = 'pending'`,
    `create index if not exists ${qualified(`${name}_running_idx`)} on ${sql} (locked_until) where status = 'running'`,
  ];
}

export function tableMigrations(table: string): readonly Migration[] {
  return [{ name: `0001_${table.replaceAll(/\W/g, "_")}`, statements: tableStatements(table) }];
}

/**
 * Makes what is missing of the table and its indexes; a table made by hand is accepted as it is (JOB-28).
 *
 * @throws SchemaError for a table that is another one, naming its columns
 */
export async function ensureTable(db: Database, table: string): Promise<"present" | "created"> {
  const name = `job-table/${table}`;
  const sql = qualified(table).replaceAll("'", "''");
  try {
    return await ensureSchema(db, {
      name,
      tables: { [table]: COLUMNS },
      isPresent: isPresent(sql),
      statements: tableStatements(table),
    });
  } catch (error) {
    // The columns are right then, and what is missing cannot be made beside what is there.
    if (!(error instanceof SchemaError) || !error.faults.some((fault) => fault.includes("isPresent")))
      throw error;
    throw new SchemaError(name, [
      `${table} needs a primary key or unique index of id alone, of a deterministic collation`,
      `${table} needs the indexes (available_at) where status = 'pending' and (locked_until) where status = 'running'`,
      `${NULLABLE.join(", ")} of ${table} must take null`,
    ]);
  }
}

/** Whatever the indexes are called, and however the condition was written: PostgreSQL keeps it in one form. */
function isPresent(sql: string): string {
  const partial = (column: string, status: string): string => `bool_or(
    attribute.attname = '${column}' and pg_get_expr(index.indpred, index.indrelid)
      ~ $svc$^\\(*status\\)?(::text)?\\)? = '${status}'::(text|character varying)(::text)?\\)*$$svc$
  )`;
  return `
select bool_or(index.indisunique and index.indpred is null and index.indnkeyatts = 1 and attribute.attname = 'id'
    and compared.collisdeterministic)
  and ${partial("available_at", "pending")}
  and ${partial("locked_until", "running")}
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
