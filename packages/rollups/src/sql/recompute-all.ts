import { literal, qualified } from "@svc/sql";
import type { Definition } from "../definition.ts";
import { END, FIRST, monthSql, startSql } from "../zone.ts";
import {
  aggregated,
  counted,
  fitted,
  list,
  longestSql,
  namesOf,
  ownName,
  sameSql,
  sharedTables,
} from "./pieces.ts";
import { conflictSql, guardSql, passesSql } from "./recompute.ts";
import { wholeKey } from "./lock.ts";

/** Returns the statement that blocks all refreshes until the end of the transaction. */
export function lockAllSql(definition: Definition): string {
  return `select current_setting('transaction_isolation') as isolation,
  concat(pg_advisory_xact_lock(${wholeKey(definition)})::text, set_config('svc.rollup', 'on', true)) as locked`;
}

/** Returns the statement that stores the zone of the totals. */
export function setZoneSql(definition: Definition): string {
  const zones = qualified(sharedTables(definition).zones);
  return `insert into ${zones} as kept (rollup, zone) values (${literal(ownName(definition))}, ${literal(definition.zone)})
on conflict (rollup) do update set zone = excluded.zone where kept.zone <> excluded.zone`;
}

/**
 * Returns the statement that recomputes all buckets; `$1` is the tenant setting. It assigns each row to the month of
 * its local date, or to the next or previous month if that month's range contains the row's time.
 */
export function recomputeAllSql(definition: Definition): string {
  const { table, source, tenant, tenantType, time, zone, groups } = definition;
  const names = namesOf(definition);
  const columns = ["tenant_id", "month", ...names.groups];
  const all = [...columns, ...names.measures].join(", ");
  const local = (at: string): string => `date_trunc('month', ${at} at time zone ${literal(zone)})`;
  const counts = `source.${time} >= ${FIRST} and source.${time} < ${END}${counted(definition)}`;
  const owner = tenant === undefined ? `null::${tenantType}` : `source.${tenant}::${tenantType}`;
  const collated = tenantType === "text" ? `(${owner}) collate "C"` : owner;
  const month = monthSql(
    `source.${time}`,
    "_svc_months.svc_month",
    "_svc_months.svc_from",
    "_svc_months.svc_to",
  );
  const tooLong =
    tenantType === "text" ? "case when max(length(tenant_id)) > 255 then 'tenant_id' end" : "max(null::text)";
  return `with ${guardSql(definition, 1)}, _svc_passed as materialized (
  select ${passesSql(definition, undefined)} as ok from _svc_guard
), _svc_span as materialized (
  select ${local(`min(source.${time})`)} as first, ${local(`max(source.${time})`)} as last
  from ${source} as source where ${counts} and (select ok from _svc_passed)
), _svc_series as materialized (
  select svc_month, svc_month + interval '1 month' as svc_next
  from _svc_span as span, generate_series(span.first, span.last, interval '1 month') as svc_month
), _svc_months as materialized (
  select svc_month, ${startSql("svc_month", zone)} as svc_from, ${startSql("svc_next", zone)} as svc_to from _svc_series
), _svc_fresh as materialized (
  select ${collated} as tenant_id, (${month})::date as month, ${aggregated(definition).join(", ")}
  from ${source} as source join _svc_months on _svc_months.svc_month = ${local(`source.${time}`)}
  where ${counts} and (select ok from _svc_passed)
  group by 1, 2${list(groups.map((_, index) => String(index + 3)))}
), _svc_fault as materialized (
  select coalesce(${longestSql(definition)}, ${tooLong}) as too_long from _svc_fresh
), _svc_fits as materialized (
  select ok and too_long is null as ok from _svc_passed, _svc_fault
), _svc_changed as materialized (
  select tenant_id, month${fitted(definition)} from _svc_fresh where (select ok from _svc_fits)
  except
  select ${all} from ${table} as kept
), _svc_gone as (
  delete from ${table} as kept where (select ok from _svc_fits)
    and not exists (select from _svc_fresh as fresh where ${sameSql(columns, "kept", "fresh")})
  returning 1
), _svc_written as (
  insert into ${table} (${all})
  select ${all} from _svc_changed
  ${conflictSql(definition)}
  returning 1
)
select locked, zone, secured, as_tenant, too_long,
  (select count(*)::int from _svc_written) as written, (select count(*)::int from _svc_gone) as removed
from _svc_guard, _svc_fault`;
}
