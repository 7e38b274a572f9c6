import {
  type Columns,
  type Database,
  ensureSchema,
  identifier,
  literal,
  type Migration,
  migrationName,
  qualified,
} from "@svc/sql";
import { command, onConnection } from "./connection.ts";
import type { Definition } from "./definition.ts";
import { checkSource, checkTotals } from "./tables.ts";
import { ownName, sharedTables } from "./sql/pieces.ts";
import { indexName } from "./sql/tables.ts";

/** Returns the statements that create the totals and the two tables shared by all rollups of a schema (ROLL-1, ROLL-6). */
export function statementsOf(definition: Definition): readonly string[] {
  const { table, groups, measures, tenantType, zone } = definition;
  const { zones, refreshes } = sharedTables(definition);
  // Collation "C": keys are only compared, and their index survives upgrades of the system's collation library.
  const collation = (type: string): string => (/^(?:text|varchar)/.test(type) ? ' collate "C"' : "");
  const columns = [
    `tenant_id ${tenantType}${collation(tenantType)}`,
    "month date not null",
    ...groups.map(({ sql, type }) => `${sql} ${type}${collation(type)}`),
    ...measures.map(({ sql, type }) => `${sql} ${type}`),
  ];
  const key = ["tenant_id", "month", ...groups.map(({ sql }) => sql)].join(", ");
  return [
    `create table if not exists ${table} (\n  ${columns.join(",\n  ")}\n)`,
    `create unique index if not exists ${identifier(indexName(definition))} on ${table} (${key}) nulls not distinct`,
    `create table if not exists ${qualified(zones)} (\n  rollup text collate "C" primary key,\n  zone text not null\n)`,
    `create table if not exists ${qualified(refreshes)} (
  rollup text collate "C" not null,
  tenant text collate "C",
  month date not null,
  generation bigint not null,
  unique nulls not distinct (rollup, tenant, month)
)`,
    `insert into ${qualified(zones)} (rollup, zone) values (${literal(ownName(definition))}, ${literal(zone)}) on conflict do nothing`,
  ];
}

/** Returns the schema as an SQL script. The source's index is only a comment, since creating it locks the caller's table. */
export function ddlOf(definition: Definition): string {
  return [
    ...statementsOf(definition).map((statement) => `${statement};`),
    `-- Every refresh reads a month of a tenant; without this index it reads the whole table:\n-- ${adviceOf(definition)};`,
    "",
  ].join("\n");
}

/** Returns the statement that creates the source index, which every refresh uses to read its rows. */
export function adviceOf({ source, tenant, time }: Definition): string {
  return `create index concurrently on ${source} (${tenant === undefined ? "" : `${tenant}, `}${time})`;
}

export function migrationsOf(definition: Definition): readonly Migration[] {
  return [
    {
      name: migrationName("0001_rollup", definition.givenTable),
      statements: statementsOf(definition),
    },
  ];
}

/**
 * Creates the missing tables, after checking the source.
 *
 * @throws SchemaError for existing tables that differ; RollupError `ERR_SVC_ROLLUP_SCHEMA` for a source that cannot be
 *   added up, `ERR_SVC_ROLLUP_ZONE` for a zone that the server does not know
 */
export async function ensureRollup(db: Database, definition: Definition): Promise<"present" | "created"> {
  const { givenTable, groups, measures, tenantType, commandTimeoutMs, maintenanceTimeoutMs } = definition;
  const { zones, refreshes } = sharedTables(definition);
  await onConnection(db, command(definition, "ensureSchema()"), async (connection) => {
    await checkSource(connection, definition);
    await checkTotals(connection, definition);
  });
  const columns: Columns = Object.fromEntries([
    ["tenant_id", tenantType === "text" ? ["text", "varchar"] : tenantType],
    ["month", "date"],
    ...[...groups, ...measures].map(({ name, type }) => [name, type.replace(/\(.*\)/, "")]),
  ]) as Columns;
  return ensureSchema(db, {
    name: `rollups/${givenTable}`,
    tables: {
      [givenTable]: columns,
      [zones]: { rollup: ["text", "varchar"], zone: ["text", "varchar"] },
      [refreshes]: {
        rollup: ["text", "varchar"],
        tenant: ["text", "varchar"],
        month: "date",
        generation: "bigint",
      },
    },
    isPresent: isPresentSql(definition),
    statements: statementsOf(definition),
    commandTimeoutMs,
    maintenanceTimeoutMs,
  });
}

function isPresentSql(definition: Definition): string {
  const { table, groups } = definition;
  const key = ["tenant_id", "month", ...groups.map(({ name }) => name)].map(literal).join(", ");
  const lengths = groups
    .filter(({ length }) => length !== undefined)
    .map(
      ({ name, length = 0 }) => ` and not exists (
    select from pg_catalog.pg_attribute where attrelid = to_regclass(${literal(table)}) and attname = ${literal(name)}
    and atttypmod <> ${length + 4}
  )`,
    );
  const zones = qualified(sharedTables(definition).zones);
  return `
select exists (select from ${zones} where rollup = ${literal(ownName(definition))}) and exists (
  select from pg_catalog.pg_index as index
  where index.indrelid = to_regclass(${literal(table)}) and index.indisvalid and index.indisunique and index.indimmediate
    and index.indnullsnotdistinct and index.indpred is null and index.indnkeyatts = ${groups.length + 2}
    and array(
      select attribute.attname::text from unnest(index.indkey::int2[]) with ordinality as part (attnum, place)
      join pg_catalog.pg_attribute as attribute
        on attribute.attrelid = index.indrelid and attribute.attnum = part.attnum
      where part.place <= index.indnkeyatts order by part.place
    ) = array[${key}]
    and not exists (select from pg_catalog.pg_collation where oid = any (index.indcollation::oid[]) and not collisdeterministic)
)${lengths.join("")}`;
}
