import { enableRowSecurity, ensureSchema, type Queryable } from "@svc/sql";

const schema = {
  name: "expenses imports",
  tables: {
    imports: {
      id: "text",
      tenant: "text",
      state: "text",
      header: "jsonb",
      rows: "integer",
      recorded: "integer",
      failed: "integer",
      failures: "jsonb",
      created_at: "timestamp with time zone",
      finished_at: "timestamp with time zone",
    },
    import_rows: { import_id: "text", tenant: "text", line: "integer", fields: "jsonb" },
    importing_tenants: { tenant: "text" },
  },
  statements: [
    `
create table if not exists imports (
  id text primary key,
  tenant text not null,
  -- receiving, queued, running, done
  state text not null default 'receiving',
  header jsonb not null,
  rows integer not null default 0,
  recorded integer not null default 0,
  failed integer not null default 0,
  failures jsonb not null default '[]',
  created_at timestamptz(3) not null default now(),
  finished_at timestamptz(3)
)`,
    // The rows of files that are not processed yet. The transaction that records a row's expense deletes the row.
    `
create table if not exists import_rows (
  import_id text not null references imports on delete cascade,
  tenant text not null,
  line integer not null,
  fields jsonb not null,
  primary key (import_id, line)
)`,
    // No database login sees the imports of all tenants, so a table without row security lists the tenants.
    `create table if not exists importing_tenants (tenant text primary key)`,
  ],
};

/** Creates the missing tables of imports. Row security limits statements to the rows of their tenant. */
export async function ensureImports(tx: Queryable): Promise<void> {
  await ensureSchema(tx, schema);
  for (const table of ["imports", "import_rows"]) await enableRowSecurity(tx, { table, column: "tenant" });
}
