import { hash } from "node:crypto";
import {
  type Columns,
  enableRowSecurity,
  ensureSchema,
  literal,
  type Migration,
  migrationName,
  qualified,
  rowSecurityStatements,
  SchemaError,
} from "@svc/sql";
import { command, query, schemaTimeouts } from "./access.ts";
import { type SearchError, searchError } from "./errors.ts";
import { checkExtension, CREATE_EXTENSION, explained, extensionOf } from "./extension.ts";
import type { ResolvedOptions } from "./options.ts";

const TEXT = ["text", "varchar"];

function columns({ precision }: ResolvedOptions): Columns {
  return {
    tenant_id: TEXT,
    document_id: TEXT,
    ordinal: ["integer", "bigint"],
    content: TEXT,
    content_sha256: "bytea",
    meta: "jsonb",
    embedding: precision === "half" ? "halfvec" : "vector",
    tsv: "tsvector",
    created_at: "timestamptz",
  };
}

/** Returns the statements that create the table and its indexes, without the tenants' approximate indexes. */
export function tableStatements(options: ResolvedOptions): readonly string[] {
  const { table, quotedTable, vectorType, textConfig, filterKeys } = options;
  const name = bareName(table);
  // Collation "C": ids are only compared, and their index survives upgrades of the system's collation library. Storage
  // "main" keeps long embeddings in the row; otherwise computing a distance would read the embedding from the TOAST
  // table.
  return [
    `create table if not exists ${quotedTable} (
  tenant_id text collate "C" not null,
  document_id text collate "C" not null,
  ordinal integer not null,
  content text not null,
  content_sha256 bytea not null,
  meta jsonb not null default '{}',
  embedding ${vectorType} not null,
  tsv tsvector not null generated always as (to_tsvector('${textConfig}'::regconfig, content)) stored,
  created_at timestamptz not null default now(),
  primary key (tenant_id, document_id, ordinal)
)`,
    `alter table ${quotedTable} alter column embedding set storage main, alter column tenant_id set statistics 1000`,
    `create index if not exists ${qualified(`${name}_tsv_idx`)} on ${quotedTable} using gin (tsv)`,
    ...filterKeys.map(
      (key) =>
        `create index if not exists ${qualified(keyIndex(table, key))} on ${quotedTable} (tenant_id, (meta ->> ${literal(key)}))`,
    ),
  ];
}

/** Returns steps for a migration tool: the extension, which needs a login that may create it, and the table. */
export function storeMigrations(options: ResolvedOptions): readonly Migration[] {
  const { table, rowSecurity } = options;
  const security = rowSecurity === undefined ? [] : rowSecurityStatements({ table, ...rowSecurity });
  return [
    { name: "0001_vector", statements: [CREATE_EXTENSION] },
    { name: migrationName("0002", table), statements: [...tableStatements(options), ...security] },
  ];
}

/**
 * Creates the missing parts of the extension, the table, its indexes and its row security.
 *
 * @throws SearchError `ERR_SVC_SEARCH_EXTENSION` without pgvector, `ERR_SVC_SEARCH_SCHEMA` if an existing table differs
 */
export async function ensureStore(options: ResolvedOptions): Promise<"present" | "created"> {
  const { db, table, rowSecurity, filterKeys } = options;
  const asked = command(options, "ensureSchema()");
  const extension = await extensionOf(asked.db);
  checkExtension(extension);
  await checkTable(asked);
  const timeouts = schemaTimeouts(options);
  try {
    const made = await ensureSchema(db, {
      name: `search-store/${table}`,
      tables: { [table]: columns(options) },
      relations: filterKeys.map((key) => inSchemaOf(table, keyIndex(table, key))),
      isPresent: isPresent(options),
      statements: [
        ...(extension.installed === undefined ? [CREATE_EXTENSION] : []),
        ...tableStatements(options),
      ],
      ...timeouts,
    });
    if (rowSecurity === undefined) return made;
    const secured = await enableRowSecurity(db, { table, ...rowSecurity, ...timeouts });
    return secured === "created" ? "created" : made;
  } catch (error) {
    if (error instanceof SchemaError) throw another(error.message, error);
    throw explained(error, extension);
  }
}

const SELECT_SHAPE = `
select format_type(attribute.atttypid, attribute.atttypmod) as type,
  (select pg_get_expr(def.adbin, def.adrelid) from pg_catalog.pg_attrdef as def
    join pg_catalog.pg_attribute as tsv on tsv.attrelid = def.adrelid and tsv.attnum = def.adnum
    where def.adrelid = attribute.attrelid and tsv.attname = 'tsv') as words
from pg_catalog.pg_attribute as attribute
where attribute.attrelid = to_regclass($1) and attribute.attname = 'embedding' and not attribute.attisdropped`;

/** Checks the number of dimensions and the text search configuration, which a comparison of columns does not cover. */
async function checkTable({
  db,
  table,
  quotedTable,
  vectorType,
  textConfig,
}: ResolvedOptions): Promise<void> {
  const { rows } = await query<{ type: string; words: string | null }>(db, SELECT_SHAPE, [quotedTable]);
  const [found] = rows;
  if (found === undefined) return;
  if (found.type !== vectorType && found.type.replace(/^.*\./, "") !== vectorType) {
    throw another(`${table}.embedding must be ${vectorType}; it is ${found.type}`);
  }
  const config = found.words === null ? undefined : /'([^']+)'::regconfig/.exec(found.words)?.[1];
  const bare = (name: string): string => name.replace(/^pg_catalog\./, "");
  if (config !== undefined && bare(config) !== bare(textConfig)) {
    throw another(`${table}.tsv must use the text configuration ${textConfig}; it uses ${config}`);
  }
}

function isPresent({ quotedTable }: ResolvedOptions): string {
  return `
select bool_or(index.indisunique and index.indpred is null and index.indnkeyatts = 3 and (
    select array_agg(attname::text order by attname) from pg_catalog.pg_attribute
    where attrelid = index.indrelid and attnum = any(index.indkey)
  ) = array['document_id', 'ordinal', 'tenant_id'])
  and bool_or(access.amname = 'gin')
from pg_catalog.pg_index as index
join pg_catalog.pg_class as class on class.oid = index.indexrelid
join pg_catalog.pg_am as access on access.oid = class.relam
where index.indrelid = to_regclass(${literal(quotedTable)}) and index.indisvalid`;
}

/** Returns the name of the index of a metadata key. */
function keyIndex(table: string, key: string): string {
  return `${bareName(table)}_meta_${hash("sha256", key).slice(0, 8)}_idx`;
}

function inSchemaOf(table: string, name: string): string {
  const dot = table.lastIndexOf(".");
  return dot < 0 ? name : `${table.slice(0, dot)}.${name}`;
}

function bareName(table: string): string {
  return table.slice(table.lastIndexOf(".") + 1);
}

function another(message: string, cause?: unknown): SearchError {
  return searchError("ERR_SVC_SEARCH_SCHEMA", message, cause);
}
