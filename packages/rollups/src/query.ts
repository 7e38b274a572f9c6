import { type Database, literal, qualified, type Row } from "@svc/sql";
import { checkMembers, type LocalDates, monthsOf, tenantOf } from "./arguments.ts";
import { command, onConnection } from "./connection.ts";
import { explained, refused } from "./errors.ts";
import type { Definition, Measure } from "./definition.ts";
import { checkZoneOf } from "./refresh.ts";
import { combinedSql } from "./sql/combined.ts";
import { ofTenant, ownName, sharedTables } from "./sql/pieces.ts";

/** Range, grouping and measures of a query. */
export interface RollupQuery extends LocalDates {
  /** Columns to group by: `month` and names of groups. Default: all of them. */
  readonly by?: readonly string[] | undefined;
  /** Names of the measures to return. Default: all. */
  readonly measures?: readonly string[] | undefined;
}

/**
 * One row of the result: its month as `YYYY-MM-DD`, its groups and its measures, with values as the driver parses them.
 */
export interface Total extends Row {
  readonly month?: string;
}

interface ZoneRow extends Row {
  readonly svc_zone: string | null;
}

/**
 * Returns the totals of a tenant that a query selects.
 * @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT`, `ERR_SVC_ROLLUP_SCHEMA`, `ERR_SVC_ROLLUP_ZONE`
 */
export async function queryTotals(
  db: Database,
  definition: Definition,
  givenTenant: unknown,
  given: RollupQuery,
): Promise<Total[]> {
  checkMembers("the last argument of query()", given, ["from", "to", "by", "measures"]);
  const tenant = tenantOf(definition, givenTenant);
  const months = monthsOf(given, { bounded: false });
  const text = totalsSql(definition, tenant !== null, given);
  const values = [...months, ...(tenant === null ? [] : [tenant])];
  return explained(definition, () =>
    onConnection(db, command(definition, "query()"), async (connection) => {
      const { rows } = await connection.query<Total & ZoneRow>(text, values);
      if (rows.length === 0) {
        const [stored] = (await connection.query<ZoneRow>(`select ${zoneSql(definition)}`)).rows;
        checkZoneOf(definition, stored?.svc_zone ?? null);
      }
      return rows.map(({ svc_zone, ...total }) => {
        checkZoneOf(definition, svc_zone);
        return total;
      });
    }),
  );
}

/**
 * Returns the SQL of the query: `$1` is the first month, `$2` the last month, `$3` the tenant if there is one. Contains
 * no string from the caller.
 */
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
    throw refused(`${stays.name} is not additive: query it by ${known.join(", ")}, or omit it from measures`);
  }
  const sqlOf = (name: string): string =>
    definition.groups.find((group) => group.name === name)?.sql ?? "month";
  const columns = dimensions.map((name) =>
    name === "month" ? "to_char(kept.month, 'YYYY-MM-DD') as month" : `kept.${sqlOf(name)}`,
  );
  const figures = measures.map((measure) => (isWhole ? `kept.${measure.sql}` : combinedSql(measure)));
  const keys = dimensions.map((name) => `kept.${sqlOf(name)}`).join(", ");
  const grouped = isWhole ? "" : keys === "" ? "having count(*) > 0" : `group by ${keys}`;
  return `select ${[...columns, ...figures, zoneSql(definition)].join(", ")}
from ${definition.table} as kept
where ${ofTenant(definition, "kept.tenant_id", hasTenant ? 3 : 0)} and kept.month between $1::date and $2::date
${grouped}
${keys === "" ? "" : `order by ${keys}`}`;
}

function zoneSql(definition: Definition): string {
  const zones = qualified(sharedTables(definition).zones);
  return `(select zone from ${zones} where rollup = ${literal(ownName(definition))}) as svc_zone`;
}

function chosen(
  key: string,
  given: readonly string[] | undefined,
  known: readonly string[],
): readonly string[] {
  if (given === undefined) return known;
  if (!Array.isArray(given)) throw refused(`${key} must be a list of names from ${known.join(", ")}`);
  for (const name of given as readonly unknown[]) {
    if (typeof name === "string" && known.includes(name)) continue;
    const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : typeof name;
    throw refused(`${key} contains ${shown}, which is unknown; expected one of ${known.join(", ")}`);
  }
  if (new Set(given).size < given.length) throw refused(`${key} contains a name twice`);
  if (key === "measures" && given.length === 0) throw refused("measures must name at least one measure");
  return given;
}
