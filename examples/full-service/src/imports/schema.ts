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
    // What is still to be done of a file. A row goes in the transaction in which it becomes an expense.
    `
create table if not exists import_rows (
  import_id text not null references imports on delete cascade,
  tenant text not null,
  line integer not null,
  fields jsonb not null,
  primary key (import_id, line)
)`,
    // Nobody sees the imports of all tenants. So who has any is kept where no row security is.
    `create table if not exists importing_tenants (tenant text primary key)`,
  ],
};

/** Makes the tables of imports where they are missing; a statement sees the rows of its tenant. */
export async function ensureImports(tx: Queryable): Promise<void> {
  await ensureSchema(tx, schema);
  for (const table of ["imports", "import_rows"]) await enableRowSecurity(tx, { table, column: "tenant" });
}
