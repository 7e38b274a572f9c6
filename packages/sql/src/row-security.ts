import { bounded } from "./bounded.ts";
import { ensureSchema } from "./ensure-schema.ts";
import { OptionError, SchemaError } from "./errors.ts";
import { identifier, qualified } from "./identifier.ts";
import { literal } from "./literal.ts";
import { withLentConnection } from "./lend.ts";
import { checkNames } from "./options.ts";
import { type Database, isPool, type Queryable } from "./queryable.ts";
import { resolveTimeouts, type SchemaTimeouts } from "./schema-options.ts";
import { checkSettingName } from "./settings.ts";

/** A table whose rows belong to tenants. */
export interface RowSecurityOptions {
  /** Name of the table, or `schema.name`. Required. */
  readonly table: string;
  /** Tenant column. Default `tenant_id`. */
  readonly column?: string | undefined;
  /** Setting that holds the tenant of a transaction. Default `svc.tenant`. */
  readonly setting?: string | undefined;
  /** Name of the policy. Default `svc_tenant`. */
  readonly policy?: string | undefined;
}

/** Type of a tenant column. `varchar` counts as `text`. */
export type TenantType = "text" | "uuid" | "integer" | "bigint";

// Keyed by the type's name in the catalogue.
const TYPES: ReadonlyMap<string, TenantType> = new Map([
  ["text", "text"],
  ["character varying", "text"],
  ["uuid", "uuid"],
  ["integer", "integer"],
  ["bigint", "bigint"],
]);
const NAMES = ["table", "column", "setting", "policy"];

interface Resolved extends Readonly<Record<keyof RowSecurityOptions, string>> {
  /** Name of the table, quoted. */
  readonly sql: string;
}

/**
 * Returns the statements that force row security on a table. Every transaction, even by the table's owner, then reads and
 * writes only rows of the tenant in its setting; without the setting it reads no rows and can write none. The statements can
 * be repeated. Run them in one transaction.
 *
 * @param options `type` is the column's type: `text` (default, also for `varchar`), `uuid`, `integer` or `bigint`
 * @throws OptionError, IdentifierError
 */
export function rowSecurityStatements(
  options: RowSecurityOptions & { readonly type?: TenantType | undefined },
): string[] {
  const subject = "rowSecurityStatements()";
  checkNames(subject, options, [...NAMES, "type"]);
  const { type = "text", ...table } = options;
  if (![...TYPES.values()].includes(type)) {
    throw new OptionError(`${subject}: type must be text, uuid, integer or bigint; it is ${String(type)}`);
  }
  return statements(resolve(subject, table), type);
}

/**
 * Forces row security on a table that does not have it yet, with the statements of `rowSecurityStatements`.
 *
 * Reads the catalogue first. If nothing is missing, it takes no lock above ACCESS SHARE and needs no rights on the table.
 * Otherwise it runs the statements as `ensureSchema` does: they lock the table exclusively for a short time, and only its
 * owner may run them.
 *
 * @returns `present` when nothing was missing, `created` when this call ran the statements
 * @throws SchemaError when the table or its column is missing, when the column's type or collation cannot hold a tenant, or
 *   when another policy for all roles would show more rows
 * @throws SqlDeadlineError when the database does not respond
 * @throws OptionError, IdentifierError
 */
export async function enableRowSecurity(
  db: Database,
  options: RowSecurityOptions & SchemaTimeouts,
): Promise<"present" | "created"> {
  const subject = "enableRowSecurity()";
  checkNames(subject, options, [...NAMES, "commandTimeoutMs", "maintenanceTimeoutMs"]);
  const wanted = resolve(subject, options);
  const timeouts = resolveTimeouts(subject, options);
  const name = `row security of ${wanted.table}`;
  const operation = `${subject} of ${wanted.table}`;
  const asked: Database = bounded(db, { operation, timeoutMs: timeouts.commandTimeoutMs });
  const type = isPool(asked)
    ? await withLentConnection(asked, (connection) => inspect(connection, wanted, name))
    : await inspect(asked, wanted, name);
  return ensureSchema(db, {
    name,
    isPresent: isPresent(wanted),
    statements: statements(wanted, type),
    ...timeouts,
  });
}

function resolve(subject: string, options: RowSecurityOptions): Resolved {
  const { table, column = "tenant_id", setting = "svc.tenant", policy = "svc_tenant" } = options;
  checkSettingName(subject, setting);
  identifier(column);
  identifier(policy);
  return { table, sql: qualified(table), column, setting, policy };
}

function statements({ sql, column, setting, policy }: Resolved, type: TenantType): string[] {
  // In transactions after the first, a custom setting that was set locally reads as an empty string, not as null.
  const tenant = `nullif(current_setting(${literal(setting)}, true), '')`;
  const own = `${identifier(column)} = ${type === "text" ? tenant : `${tenant}::${type}`}`;
  return [
    `alter table ${sql} enable row level security`,
    `alter table ${sql} force row level security`,
    `drop policy if exists ${identifier(policy)} on ${sql}`,
    `create policy ${identifier(policy)} on ${sql} as permissive for all to public using (${own}) with check (${own})`,
  ];
}

const SELECT_TABLE = `
select class.relkind in ('r', 'p') as is_table, format_type(attribute.atttypid, null) as type,
  coalesce(rules.collisdeterministic, true) as is_exact,
  array(select polname::text from pg_catalog.pg_policy
    where polrelid = class.oid and polname <> $3 and polpermissive and 0::oid = any(polroles) order by 1) as others
from pg_catalog.pg_class as class
left join pg_catalog.pg_attribute as attribute
  on attribute.attrelid = class.oid and attribute.attname = $2 and attribute.attnum > 0 and not attribute.attisdropped
left join pg_catalog.pg_collation as rules on rules.oid = attribute.attcollation
where class.oid = to_regclass($1)`;

interface TableRow extends Record<string, unknown> {
  readonly is_table: boolean;
  readonly type: string | null;
  readonly is_exact: boolean;
  readonly others: readonly string[];
}

async function inspect(
  db: Queryable,
  { table, sql, column, policy }: Resolved,
  name: string,
): Promise<TenantType> {
  const { rows } = await db.query<TableRow>(SELECT_TABLE, [sql, column, policy]);
  const [found] = rows;
  if (found === undefined) throw new SchemaError(name, [`${table} is missing`]);
  if (!found.is_table) throw new SchemaError(name, [`${table} is not a table`]);
  if (found.type === null) throw new SchemaError(name, [`${table}.${column} is missing`]);
  const type = TYPES.get(found.type);
  if (type === undefined) {
    const known = [...TYPES.keys()].join(", ");
    throw new SchemaError(name, [`${table}.${column} must be one of ${known}; it is ${found.type}`]);
  }
  // A collation that is not deterministic can treat two tenants as equal, which would then read each other's rows.
  if (!found.is_exact)
    throw new SchemaError(name, [`${table}.${column} has a collation that is not deterministic`]);
  if (found.others.length > 0) {
    const faults = found.others.map(
      (each) =>
        `the policy ${each} could show rows of other tenants: drop the policy, make it restrictive, or limit it to one role`,
    );
    throw new SchemaError(name, faults);
  }
  return type;
}

// The server adds parentheses and casts to an expression, depending on the type of the column.
const EXTRAS = literal(String.raw`::(text|character varying|uuid|integer|bigint)|[()\s]`);

function isPresent({ sql, column, setting, policy }: Resolved): string {
  const bare = (expression: string): string => `regexp_replace(${expression}, ${EXTRAS}, '', 'g')`;
  const wanted = bare(
    `quote_ident(${literal(column)}) || ${literal(`=NULLIFcurrent_setting'${setting}',true,''`)}`,
  );
  return `
select class.relrowsecurity and class.relforcerowsecurity and exists (
  select from pg_catalog.pg_policy
  where polrelid = class.oid and polname = ${literal(policy)} and polpermissive and polcmd = '*' and polroles = '{0}'
    and ${bare("pg_get_expr(polqual, polrelid)")} = ${wanted}
    and ${bare("pg_get_expr(polwithcheck, polrelid)")} = ${wanted})
from pg_catalog.pg_class as class where class.oid = to_regclass(${literal(sql)})`;
}
