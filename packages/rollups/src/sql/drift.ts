import { literal } from "@svc/sql";
import type { Definition } from "../definition.ts";
import { boundsSql } from "../zone.ts";
import { aggregated, counted, list, namesOf, ofTenant } from "./pieces.ts";
import { guardSql } from "./recompute.ts";

/** Returns the query for the checks that precede a comparison; `$1` is the tenant setting. */
export function guardOnlySql(definition: Definition): string {
  return `with ${guardSql(definition, 1)} select * from _svc_guard`;
}

/**
 * Returns the query for the differences between a tenant's rows and totals; `$1` and `$2` are months, `$3` is the tenant.
 */
export function driftSql(definition: Definition, hasTenant: boolean): string {
  const { table, source, tenant, time, zone, groups } = definition;
  const names = namesOf(definition);
  const columns = list([...names.groups, ...names.measures]);
  const parameter = hasTenant ? 3 : 0;
  const grouped =
    groups.length === 0
      ? "having count(*) > 0"
      : `group by ${groups.map((_, index) => index + 1).join(", ")}`;
  return `with _svc_series as materialized (
  select svc_month, svc_month + interval '1 month' as svc_next
  from generate_series($1::timestamp, $2::timestamp, interval '1 month') as svc_month
), _svc_months as materialized (
  select svc_month, ${boundsSql("svc_month", "svc_next", zone, ["svc_from", "svc_to"])} from _svc_series
), _svc_expected as materialized (
  select months.svc_month::date as month${columns} from _svc_months as months cross join lateral (
    select ${aggregated(definition).join(", ")} from ${source} as source
    where ${ofTenant(definition, tenant && `source.${tenant}`, parameter)}
      and source.${time} >= months.svc_from and source.${time} < months.svc_to${counted(definition)}
    ${grouped}
  ) as fresh
), _svc_stored as materialized (
  select month${columns} from ${table} as kept
  where ${ofTenant(definition, "kept.tenant_id", parameter)} and kept.month between $1::date and $2::date
), _svc_drift as (
  select 'expected' as svc_side, missing.* from (select * from _svc_expected except select * from _svc_stored) as missing
  union all
  select 'stored', extra.* from (select * from _svc_stored except select * from _svc_expected) as extra
)
select svc_side, to_char(month, 'YYYY-MM-DD') as month${columns} from _svc_drift order by month${list(names.groups)}`;
}

/**
 * Returns the query that checks whether the source has an index on columns `$1` (tenant or null) and `$2` (time); its
 * result is true for a view.
 */
export function hasIndexSql({ source }: Definition): string {
  return `select class.relkind not in ('r', 'p') or exists (
  select from pg_catalog.pg_index as index
  join pg_catalog.pg_class as made on made.oid = index.indexrelid
  join pg_catalog.pg_am as method on method.oid = made.relam and method.amname = 'btree'
  where index.indrelid = class.oid and index.indisvalid and index.indpred is null
    and array(
      select attribute.attname::text from unnest(index.indkey::int2[]) with ordinality as part (attnum, place)
      join pg_catalog.pg_attribute as attribute
        on attribute.attrelid = index.indrelid and attribute.attnum = part.attnum
      where part.place <= case when $1::text is null then 1 else 2 end order by part.place
    ) = array_remove(array[$1::text, $2::text], null)
) as present
from pg_catalog.pg_class as class where class.oid = to_regclass(${literal(source)})`;
}
