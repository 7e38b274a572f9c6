import { type Database, qualified, type Row } from "@svc/sql";
import { checkMembers, type LocalDates, monthsOf, tenantOf } from "./arguments.ts";
import { onConnection } from "./connection.ts";
import { explained, refused } from "./errors.ts";
import { literal } from "./literal.ts";
import type { Definition, Measure } from "./definition.ts";
import { checkZoneOf } from "./refresh.ts";
import { combinedSql } from "./sql/combined.ts";
import { ofTenant, ownName, sharedTables } from "./sql/pieces.ts";

/** What totals are asked for. */
export interface RollupQuery extends LocalDates {
  /** What they are kept apart by: `month` and names of groups. Default: all of them. */
  readonly by?: readonly string[] | undefined;
  /** Names of measures. Default: all. */
  readonly measures?: readonly string[] | undefined;
}

/** A total: its month as `YYYY-MM-DD`, its groups and its measures, as the driver reads their types. */
export interface Total extends Row {
  readonly month?: string;
}

/** One row at least: that of the zone, with no total beside it. */
interface FoundTotal extends Total {
  readonly svc_zone: string | null;
  readonly svc_found: boolean | null;
}

/** @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT`, `ERR_SVC_ROLLUP_SCHEMA`, `ERR_SVC_ROLLUP_ZONE` */
export async function queryTotals(
  db: Database,
  definition: Definition,
  givenTenant: unknown,
  given: RollupQuery,
): Promise<Total[]> {
  checkMembers("query()", given, ["from", "to", "by", "measures"]);
  const tenant = tenantOf(definition, givenTenant);
  const months = monthsOf(given, { bounded: false });
  const text = totalsSql(definition, tenant !== null, given);
  const values = [...months, ...(tenant === null ? [] : [tenant])];
  const { rows } = await explained(definition, () =>
    onConnection(db, (connection) => connection.query<FoundTotal>(text, values)),
  );
  checkZoneOf(definition, rows[0]?.svc_zone ?? null);
  return rows.flatMap(({ svc_zone: _zone, svc_found, ...total }) => (svc_found === true ? [total] : []));
}

/** `$1` the first month, `$2` the last one, `$3` the tenant where there is one. Names that are given are looked up, never sent. */
function totalsSql(definition: Definition, hasTenant: boolean, { by, measures: given }: RollupQuery): string {
  const known = ["month", ...definition.groups.map(({ name }) => name)];
  const dimensions = chosen("by", by, known);
  const measures = chosen(
    "measures",
    given,
    definition.measures.map(({ name }) => name),
  ).map((name) => definition.measures.find((each) => each.name === name) as Measure);
  const isWhole = dimensions.length === known.length;
  const stays = measures.find(({ combine }) => combine === undefined);
  if (stays !== undefined && !isWhole) {
    throw refused(
      `${stays.name} does not add up: ask for it by ${known.join(", ")}, or leave it out of measures`,
    );
  }
  const sqlOf = (name: string): string =>
    definition.groups.find((group) => group.name === name)?.sql ?? "month";
  const columns = dimensions.map((name) =>
    name === "month" ? "to_char(kept.month, 'YYYY-MM-DD') as month" : `kept.${sqlOf(name)}`,
  );
  const figures = measures.map((measure) => (isWhole ? `kept.${measure.sql}` : combinedSql(measure)));
  const keys = dimensions.map((name) => `kept.${sqlOf(name)}`).join(", ");
  const zone = `(select zone from ${qualified(sharedTables(definition).zones)} where rollup = ${literal(ownName(definition))})`;
  const grouped = isWhole ? "" : keys === "" ? "having count(*) > 0" : `group by ${keys}`;
  const order = dimensions.map((name) => `totals.${sqlOf(name)}`).join(", ");
  return `select ${zone} as svc_zone, totals.* from (values (0)) as always left join (
  select true as svc_found, ${[...columns, ...figures].join(", ")}
  from ${definition.table} as kept
  where ${ofTenant(definition, "kept.tenant_id", hasTenant ? 3 : 0)} and kept.month between $1::date and $2::date
  ${grouped}
) as totals on true${order === "" ? "" : `\norder by ${order}`}`;
}

function chosen(
  key: string,
  given: readonly string[] | undefined,
  known: readonly string[],
): readonly string[] {
  if (given === undefined) return known;
  if (!Array.isArray(given)) throw refused(`${key} must be a list of names; known are ${known.join(", ")}`);
  for (const name of given as readonly unknown[]) {
    if (typeof name === "string" && known.includes(name)) continue;
    const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : typeof name;
    throw refused(`${key} has ${shown}, which is unknown; known are ${known.join(", ")}`);
  }
  if (new Set(given).size < given.length) throw refused(`${key} names something twice`);
  if (key === "measures" && given.length === 0) throw refused("measures must name at least one");
  return given;
}
