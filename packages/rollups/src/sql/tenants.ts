import { literal, qualified } from "@svc/sql";
import type { Definition } from "../definition.ts";

/**
 * Returns the query for the facts that precede a list of tenants: whether row security hides rows, and whether there are
 * rows or totals without a tenant.
 */
export function tenantFactsSql({ source, table, tenant, setting }: Definition, isListed: boolean): string {
  const secured =
    isListed || setting === undefined
      ? "false"
      : `coalesce(row_security_active(${literal(source)}) or row_security_active(${literal(table)}), false)`;
  const isNull = isListed
    ? "false"
    : `exists (select from ${source} as source where source.${tenant} is null)
    or exists (select from ${table} as kept where kept.tenant_id is null)`;
  return `select ${secured} as secured, ${isNull} as has_null`;
}

/**
 * Returns the query for the next tenants with rows, in the order of the source's index: `$1` is the maximum number, `$2` the
 * tenant after which to begin, if `isFirst` is false. It reads one index entry per tenant.
 */
export function sourceTenantsSql(definition: Definition, isFirst: boolean): string {
  const { source, tenant = "", tenantType } = definition;
  return skipping(source, tenant, isFirst ? undefined : `$2::text::${tenantType}`);
}

/** Returns the same query for the tenants that have totals and no rows at all. */
export function totalsTenantsSql(definition: Definition, isFirst: boolean): string {
  const { source, table, tenant = "", tenantType } = definition;
  // The collations of the two columns may differ, and the server does not compare such columns.
  const collation = tenantType === "text" ? ' collate "default"' : "";
  const own = `_svc_tenants.tenant${collation}`;
  // Compare with the first tenant at or after this one, which the server reads through the index. For `not exists`, it may
  // read all rows, or join, which loses the order.
  const found = `select each.${tenant} from ${source} as each where each.${tenant} >= ${own} order by each.${tenant}${collation} limit 1`;
  return skipping(
    table,
    "tenant_id",
    isFirst ? undefined : `$2::text::${tenantType}`,
    ` and (${found}) is distinct from ${own}`,
  );
}

/** Returns the same query for the tenants of a table that lists them. */
export function listedTenantsSql(
  { tenantTable = "", tenant = "", tenantType }: Definition,
  isFirst: boolean,
): string {
  return skipping(qualified(tenantTable), tenant, isFirst ? undefined : `$2::text::${tenantType}`);
}

// Each step finds the next greater tenant through an index, so the server does not read all rows of a tenant.
function skipping(table: string, column: string, after: string | undefined, condition = ""): string {
  const next = (bound: string): string =>
    `select each.${column} as tenant from ${table} as each where ${bound} order by each.${column} limit 1`;
  return `with recursive _svc_tenants as (
  (${next(after === undefined ? `each.${column} is not null` : `each.${column} > ${after}`)})
  union all
  select (${next(`each.${column} > _svc_tenants.tenant`)}) from _svc_tenants where _svc_tenants.tenant is not null
)
select tenant::text as tenant from _svc_tenants where tenant is not null${condition} limit $1::int`;
}
