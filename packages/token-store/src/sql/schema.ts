import { type Database, ensureSchema, qualified, type TableNeeds, tableNeeds } from "@svc/sql";

/** The table where no other one is named. */
export const DEFAULT_TABLE = "svc_auth_marks";

const COLUMNS = {
  key: "text",
  nonce: "text",
  deadline: "timestamptz",
  expires_at: "timestamptz",
} as const;

// Without a unique index nothing could be consumed once; ids are compared to the letter.
const NEEDS: TableNeeds = {
  key: "key",
  indexes: [{ columns: ["expires_at"] }],
  nullable: ["nonce", "deadline"],
};

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
  return ensureSchema(db, {
    name: `token-store/${table}`,
    tables: { [table]: COLUMNS },
    ...tableNeeds(table, NEEDS),
    statements: tokenStoreStatements(table),
  });
}
