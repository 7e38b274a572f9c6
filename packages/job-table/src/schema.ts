import {
  type Columns,
  type Database,
  ensureSchema,
  migrationName,
  qualified,
  type SchemaTimeouts,
  type TableNeeds,
  tableNeeds,
} from "@svc/sql";

/** A schema migration, for a migration tool. */
export interface Migration {
  /** Sorts after the previous migration's name. */
  readonly name: string;
  /** Idempotent statements. */
  readonly statements: readonly string[];
}

const TEXT = ["text", "varchar"];
const WHOLE = ["integer", "bigint", "smallint"];

// The thirteen columns in the contract (JOB-2), with the types that a manually created table may use instead.
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

const NEEDS: TableNeeds = {
  key: "id",
  indexes: [
    { columns: ["available_at"], status: "pending" },
    { columns: ["locked_until"], status: "running" },
  ],
  nullable: ["locked_until", "request_id", "tenant_id", "last_error", "trace"],
  // A worker's claim finds its rows by ctid, which is not unique across a table's partitions.
  isOrdinary: true,
};

/** Returns the statements that create the table and its two indexes (JOB-24). */
export function tableStatements(table: string): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  // Collation "C": ids are never sorted for users, and the index survives an upgrade of the system's collations. Half
  // of each index page stays free, because a claim adds a second entry for its row.
  return [
    `create table if not exists ${sql} (
  id text collate "C" primary key with (fillfactor = 50),
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
  return [{ name: migrationName("0001", table), statements: tableStatements(table) }];
}

/**
 * Creates the table, or the missing parts of a manually created table (JOB-28).
 *
 * @throws SchemaError for a table with other columns, naming them
 */
export function ensureTable(
  db: Database,
  table: string,
  timeouts: SchemaTimeouts,
): Promise<"present" | "created"> {
  return ensureSchema(db, {
    name: `job-table/${table}`,
    tables: { [table]: COLUMNS },
    ...tableNeeds(table, NEEDS),
    statements: tableStatements(table),
    ...timeouts,
  });
}
