import { identifier, qualified } from "@svc/sql";
import type { Definition } from "../definition.ts";
import { combinedSql } from "./combined.ts";
import { aggregated, counted, list, namesOf, ownName } from "./pieces.ts";

/**
 * Query for catalogue data about the source: `$1` is its name, `$2` the time column, `$3` the tenant column or null,
 * `$4` the zone.
 */
export const sourceSql = `select to_regclass($1) is not null as present,
  (select format_type(atttypid, null) from pg_catalog.pg_attribute
    where attrelid = to_regclass($1) and attname = $2 and not attisdropped) as time,
  $3::text is null or exists (select from pg_catalog.pg_attribute
    where attrelid = to_regclass($1) and attname = $3 and not attisdropped) as tenant,
  not exists (select from pg_catalog.pg_attribute as attribute
    join pg_catalog.pg_collation as collated on collated.oid = attribute.attcollation and not collated.collisdeterministic
    where attribute.attrelid = to_regclass($1) and attribute.attname = $3 and not attribute.attisdropped) as exact,
  coalesce(has_table_privilege(to_regclass($1), 'select'), false) as readable,
  now() at time zone $4 is not null as zone`;

/** Query for the precision and scale of the `numeric` columns of the totals table `$1`. */
export const totalsSql = `select attname::text as name, substring(format_type(atttypid, atttypmod) from '\\((.*)\\)') as digits
from pg_catalog.pg_attribute
where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and atttypid = 'numeric'::regtype and atttypmod > 0`;

/** Returns the name of the totals index. */
export function indexName(definition: Definition): string {
  return `${ownName(definition)}_bucket_idx`;
}

/** Returns the quoted name of the index, with its schema, for `to_regclass()`. */
export function keyName(definition: Definition): string {
  const dot = definition.givenTable.lastIndexOf(".");
  const index = indexName(definition);
  return dot < 0 ? identifier(index) : qualified(`${definition.givenTable.slice(0, dot)}.${index}`);
}

/** Query for the columns of the index `$1`; null if the index does not exist. */
export const keySql = `select array_agg(attname::text order by attnum) as columns
from pg_catalog.pg_attribute where attrelid = to_regclass($1)`;

/** Returns a query that contains every expression over the source (filter, groups, measures, casts) and reads no rows. */
export function probeSql(definition: Definition): string {
  const { source, tenant, tenantType, time, groups, measures } = definition;
  const names = namesOf(definition);
  const grouped =
    groups.length === 0
      ? "having count(*) > 0"
      : `group by ${groups.map((_, index) => String(index + 1)).join(", ")}`;
  const whose = tenant === undefined ? "" : ` and source.${tenant} = null::text::${tenantType}`;
  return `with _svc_fresh as (
  select ${aggregated(definition).join(", ")} from ${source} as source
  where false and source.${time} < now()${whose}${counted(definition)}
  ${grouped}
), _svc_kept as (
  select ${list([...names.groups, ...names.measures]).slice(2)} from _svc_fresh as fresh
  except
  select ${list([...names.groups, ...names.measures]).slice(2)} from _svc_fresh as fresh
)
select ${measures.map((measure) => (measure.combine === undefined ? "null" : combinedSql(measure))).join(", ")} from _svc_kept as kept`;
}
