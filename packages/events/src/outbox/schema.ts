import {
  type Columns,
  type Database,
  ensureSchema,
  type Migration,
  migrationName,
  qualified,
  type TableNeeds,
  tableNeeds,
} from "@svc/sql";
import type { TableTimeouts } from "../table-options.ts";

const TEXT = ["text", "varchar"];

// The fourteen columns (OUT-4), with the types that a manually created table may use instead.
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

const NEEDS: TableNeeds = {
  key: "id",
  indexes: [
    { columns: ["message_key", "created_at", "id"], status: "pending" },
    { columns: ["published_at"], status: "published" },
    { columns: ["created_at"], status: "dead" },
  ],
  nullable: ["message_key", "request_id", "tenant_id", "trace", "published_at", "last_error"],
};

/**
 * Returns the statements for the table and its three indexes: pending rows per key, published rows, and dead rows.
 */
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
  return [{ name: migrationName("0001", table), statements: outboxStatements(table) }];
}

/** @throws SchemaError for a table with other columns, naming them */
export function ensureOutbox(
  db: Database,
  table: string,
  timeouts: TableTimeouts,
): Promise<"present" | "created"> {
  return ensureSchema(db, {
    name: `outbox/${table}`,
    tables: { [table]: COLUMNS },
    ...tableNeeds(table, NEEDS),
    statements: outboxStatements(table),
    ...timeouts,
  });
}
