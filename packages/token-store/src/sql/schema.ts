import { ensureSchema, qualified } from "@svc/sql";
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
export function ensureTable(db: Database, table: string): Promise<"present" | "created"> {
  const sql = qualified(table).replaceAll("'", "''");
  return ensureSchema(db, {
    name: `token-store/${table}`,
    tables: { [table]: COLUMNS },
    // Whatever the indexes are called: without a unique one nothing could be consumed once.
    isPresent: `
select bool_or(index.indisunique and index.indnkeyatts = 1 and attribute.attname = 'key')
  and bool_or(attribute.attname = 'expires_at')
from pg_catalog.pg_index as index
join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = index.indrelid and attribute.attnum = index.indkey[0]
where index.indrelid = to_regclass('${sql}') and index.indisvalid and index.indimmediate and index.indpred is null`,
    statements: tokenStoreStatements(table),
  });
}
