import { ensureSchema, qualified, SchemaError } from "@svc/sql";
import type { Database } from "@svc/sql";

/** The table where no other one is named. */
export const DEFAULT_TABLE = "svc_auth_marks";

const COLUMNS = {
  key: "text",
  nonce: "text",
  deadline: "timestamptz",
  expires_at: "timestamptz",
} as const;

/**
 * The statements that make the table and its index, for a migration. They do no harm where both are there.
 *
 * @param table its name, or `schema.name`; default `svc_auth_marks`
 * @throws IdentifierError for what is no name, or one of more than 48 bytes
 */
export function tokenStoreStatements(table: string = DEFAULT_TABLE): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  // Ids are compared and never sorted for people; an index of this collation survives an upgrade of the system's library.
  return [
    `create table if not exists ${sql} (
  key text collate "C" primary key,
  nonce text,
  deadline timestamptz,
  expires_at timestamptz not null
)`,
    `create index if not exists ${qualified(`${name}_expires_at_idx`)} on ${sql} (expires_at)`,
  ];
}

/**
 * Makes the table when it is missing. One that is there is left alone, and then no right but to ask the catalogue is needed.
 *
 * @throws SchemaError for a table that is another one
 */
export async function ensureTable(db: Database, table: string): Promise<"present" | "created"> {
  const name = `token-store/${table}`;
  const sql = qualified(table).replaceAll("'", "''");
  try {
    return await ensureSchema(db, {
      name,
      tables: { [table]: COLUMNS },
      isPresent: isPresent(sql),
      statements: tokenStoreStatements(table),
    });
  } catch (error) {
    // The columns are right then, and what is missing cannot be made beside what is there.
    if (!(error instanceof SchemaError) || !error.faults.some((fault) => fault.includes("isPresent")))
      throw error;
    throw new SchemaError(name, [
      `${table} needs a primary key or unique index of key alone and an index that begins with expires_at`,
      `${table}.key needs a deterministic collation, so that ids are compared to the letter`,
      `${table}.nonce and ${table}.deadline must take null`,
    ]);
  }
}

/** Whatever the indexes are called: without a unique one nothing could be consumed once. */
function isPresent(sql: string): string {
  return `
select bool_or(index.indisunique and index.indnkeyatts = 1 and attribute.attname = 'key' and compared.collisdeterministic)
  and bool_or(attribute.attname = 'expires_at')
  and not exists (
    select from pg_catalog.pg_attribute where attrelid = to_regclass('${sql}') and attnotnull
    and attname in ('nonce', 'deadline')
  )
from pg_catalog.pg_index as index
join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = index.indrelid and attribute.attnum = index.indkey[0]
left join pg_catalog.pg_collation as compared on compared.oid = attribute.attcollation
where index.indrelid = to_regclass('${sql}') and index.indisvalid and index.indimmediate and index.indpred is null`;
}
