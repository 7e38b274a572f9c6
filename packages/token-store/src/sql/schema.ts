import { type Database, ensureSchema, qualified, type TableNeeds, tableNeeds } from "@svc/sql";

/** Default name of the table. */
export const DEFAULT_TABLE = "svc_auth_marks";

const COLUMNS = {
  key: "text",
  nonce: "text",
  deadline: "timestamptz",
  expires_at: "timestamptz",
} as const;

// The unique index lets only one request with a token win. Its collation must be deterministic: other collations may
// treat two ids as equal.
const NEEDS: TableNeeds = {
  key: "key",
  indexes: [{ columns: ["expires_at"] }],
  nullable: ["nonce", "deadline"],
};

/**
 * Returns the statements that create the table and its index, for a migration. They change nothing if both exist.
 *
 * @param table its name, or `schema.name`; default `svc_auth_marks`
 * @throws IdentifierError for an invalid name, or one of more than 48 bytes
 */
export function tokenStoreStatements(table: string = DEFAULT_TABLE): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  // Use collation "C": ids need no linguistic order, and the index survives an upgrade of the system's locale library.
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
 * Creates the table if it is missing. Only checks an existing table, which needs no privilege beyond reading the catalog.
 *
 * @throws SchemaError when the existing table cannot serve as the store
 */
export function ensureTable(db: Database, table: string): Promise<"present" | "created"> {
  return ensureSchema(db, {
    name: `token-store/${table}`,
    tables: { [table]: COLUMNS },
    ...tableNeeds(table, NEEDS),
    statements: tokenStoreStatements(table),
  });
}
