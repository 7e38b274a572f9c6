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

const NEEDS: TableNeeds = {
  key: "id",
  indexes: [
    { columns: ["available_at"], status: "pending" },
    { columns: ["locked_until"], status: "running" },
  ],
  nullable: ["locked_until", "request_id", "tenant_id", "last_error", "trace"],
  // A worker's claim in between finds its rows again by their ctid, and of several tables each has that one.
  isOrdinary: true,
};

/** The statements that make the table and its two indexes (JOB-24). */
export function tableStatements(table: string): readonly string[] {
  const name = table.slice(table.lastIndexOf(".") + 1);
  const sql = qualified(table);
  // Ids are compared and never sorted for people; an index of this collation survives an upgrade of the system's library.
  // Half of each page is left free for the entry that a claim adds beside the one of the job that waits.
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
 * Makes what is missing of the table and its indexes; a table made by hand is accepted as it is (JOB-28).
 *
 * @throws SchemaError for a table that is another one, naming its columns
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
