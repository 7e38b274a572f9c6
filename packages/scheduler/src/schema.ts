import {
  type Columns,
  type Database,
  ensureSchema,
  type Migration,
  migrationName,
  qualified,
  type SchemaTimeouts,
} from "@svc/sql";

const COLUMNS: Columns = {
  name: ["text", "varchar"],
  fire_at: "timestamptz",
  claimed_by: ["text", "varchar"],
  claimed_at: "timestamptz",
};

export function ticksStatements(table: string): readonly string[] {
  // Collation "C": names are only compared, and their index survives upgrades of the system's collation library.
  return [
    `create table if not exists ${qualified(table)} (
  name text collate "C" not null,
  fire_at timestamptz not null,
  claimed_by text,
  claimed_at timestamptz not null default now(),
  primary key (name, fire_at)
)`,
  ];
}

export function ticksMigrations(table: string): readonly Migration[] {
  return [{ name: migrationName("0001", table), statements: ticksStatements(table) }];
}

/**
 * Creates the table of ticks if it is missing; accepts a table created by hand.
 *
 * @throws SchemaError, naming the columns, if an existing table differs
 */
export function ensureTicks(
  db: Database,
  table: string,
  timeouts: SchemaTimeouts,
): Promise<"present" | "created"> {
  return ensureSchema(db, {
    name: `scheduler/${table}`,
    tables: { [table]: COLUMNS },
    isPresent: isPresent(qualified(table).replaceAll("'", "''")),
    needs: [
      `${table} needs a primary key or unique index on (name, fire_at), in this order, and a nullable claimed_by`,
    ],
    statements: ticksStatements(table),
    ...timeouts,
  });
}

function isPresent(sql: string): string {
  return `
select exists (
    select from pg_catalog.pg_index as index
    join pg_catalog.pg_attribute as first on first.attrelid = index.indrelid and first.attnum = index.indkey[0]
    join pg_catalog.pg_attribute as second on second.attrelid = index.indrelid and second.attnum = index.indkey[1]
    where index.indrelid = to_regclass('${sql}') and index.indisvalid and index.indimmediate and index.indisunique
      and index.indpred is null and index.indnkeyatts = 2 and first.attname = 'name' and second.attname = 'fire_at'
  ) and not exists (
    select from pg_catalog.pg_attribute
    where attrelid = to_regclass('${sql}') and attnotnull and attname = 'claimed_by'
  )`;
}
