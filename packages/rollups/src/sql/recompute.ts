import { literal, qualified } from "@svc/sql";
import type { Definition } from "../definition.ts";
import {
  aggregated,
  counted,
  fitted,
  list,
  longestSql,
  namesOf,
  ofTenant,
  ownName,
  sameSql,
  sharedTables,
} from "./pieces.ts";

/** Result of a recompute: what it changed, or which check failed. */
export interface Recomputed extends Record<string, unknown> {
  /** Whether the lock that the preceding statement took is still held. */
  readonly locked: boolean;
  /** Stored zone of the totals; null if the totals were never created. */
  readonly zone: string | null;
  /** Whether row security hides rows of other tenants. */
  readonly secured: boolean;
  readonly as_tenant: string | null;
  /** Name of a group with a value that is too long. */
  readonly too_long: string | null;
  readonly written: number;
  readonly removed: number;
}

/**
 * Returns the CTE `_svc_guard` with the facts to check before writing; `setting` is the number of the parameter with the
 * tenant setting. The names of all CTEs begin with `_svc_`, because a CTE hides a table of the same name.
 */
export function guardSql(definition: Definition, setting: number): string {
  const zones = qualified(sharedTables(definition).zones);
  const current = `nullif(current_setting($${setting}::text, true), '')`;
  // A transaction may name a UUID in upper case; tenantOf() returns it in lower case.
  const tenant = definition.tenantType === "uuid" ? `lower(${current})` : current;
  return `_svc_guard as materialized (
  select coalesce(current_setting('svc.rollup', true), '') = 'on' as locked,
    (select zone from ${zones} where rollup = ${literal(ownName(definition))}) as zone,
    coalesce(row_security_active(${literal(definition.source)}) or row_security_active(${literal(definition.table)}), false)
      and $${setting}::text is not null as secured,
    case when $${setting}::text is not null then ${tenant} end as as_tenant
)`;
}

/**
 * Returns the condition under which a recompute may write.
 * @param tenant number of the tenant's parameter; 0 for rows without a tenant, undefined for all tenants
 */
export function passesSql({ zone }: Definition, tenant: number | undefined): string {
  const zoned = `locked and lower(zone) = lower(${literal(zone)})`;
  if (tenant === undefined) return `${zoned} and not secured`;
  return `${zoned} and (not secured or ${tenant === 0 ? "false" : `as_tenant = $${tenant}::text`})`;
}

/**
 * Returns the statement that recomputes a bucket from its rows and writes what differs (ROLL-2): `$1` is the month, `$2` and
 * `$3` are its start and end, `$4` is the tenant setting, `$5` the tenant if there is one. It does not lock rows that are
 * already correct.
 */
export function recomputeSql(definition: Definition, hasTenant: boolean): string {
  const { table, source, time, groups } = definition;
  const names = namesOf(definition);
  const tenant = hasTenant ? 5 : 0;
  const bucket = `${ofTenant(definition, "kept.tenant_id", tenant)} and kept.month = $1::date`;
  const key = hasTenant ? `$5::text::${definition.tenantType}` : `null::${definition.tenantType}`;
  const grouped =
    groups.length === 0
      ? "having count(*) > 0"
      : `group by ${groups.map((_, index) => index + 1).join(", ")}`;
  return `with ${guardSql(definition, 4)}, _svc_passed as materialized (
  select ${passesSql(definition, tenant)} as ok from _svc_guard
), _svc_fresh as materialized (
  select ${aggregated(definition).join(", ")}
  from ${source} as source
  where ${ofTenant(definition, definition.tenant && `source.${definition.tenant}`, tenant)}
    and source.${time} >= to_timestamp($2::float8) and source.${time} < to_timestamp($3::float8)${counted(definition)}
    and (select ok from _svc_passed)
  ${grouped}
), _svc_fault as materialized (
  select ${longestSql(definition)} as too_long from _svc_fresh
), _svc_fits as materialized (
  select ok and too_long is null as ok from _svc_passed, _svc_fault
), _svc_changed as materialized (
  select ${fitted(definition).slice(2)} from _svc_fresh where (select ok from _svc_fits)
  except
  select ${[...names.groups, ...names.measures].join(", ")} from ${table} as kept where ${bucket}
), _svc_gone as (
  delete from ${table} as kept where ${bucket} and (select ok from _svc_fits)
    and not exists (select from _svc_fresh as fresh${groups.length === 0 ? "" : ` where ${sameSql(names.groups, "kept", "fresh")}`})
  returning 1
), _svc_written as (
  insert into ${table} (tenant_id, month${list([...names.groups, ...names.measures])})
  select ${key}, $1::date${list([...names.groups, ...names.measures])} from _svc_changed
  ${conflictSql(definition)}
  returning 1
)
select locked, zone, secured, as_tenant, too_long,
  (select count(*)::int from _svc_written) as written, (select count(*)::int from _svc_gone) as removed
from _svc_guard, _svc_fault`;
}

/** Returns the clause that updates the measures of an existing row. */
export function conflictSql(definition: Definition): string {
  const names = namesOf(definition);
  const set = names.measures.map((each) => `${each} = excluded.${each}`).join(", ");
  return `on conflict (tenant_id, month${list(names.groups)}) do update set ${set}`;
}
