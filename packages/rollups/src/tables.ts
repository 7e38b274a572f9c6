import { type Queryable, sqlStateOf } from "@svc/sql";
import type { Definition } from "./definition.ts";
import { explained, RollupError } from "./errors.ts";
import { keyName, keySql, probeSql, sourceSql, totalsSql } from "./sql/tables.ts";

interface SourceRow extends Record<string, unknown> {
  readonly present: boolean;
  readonly time: string | null;
  readonly tenant: boolean;
  readonly exact: boolean;
  readonly readable: boolean;
}

// Syntax, names, types, aggregates: what is wrong with SQL as such. Not permissions.
const WRONG_SQL = /^(?:0A|22|42(?!501))/;

/**
 * Looks at the source, and has the server look at the statements about it, without reading a row. Who makes the tables may have
 * no right to read the source: then the first refresh is the one to find out.
 *
 * @throws RollupError `ERR_SVC_ROLLUP_SCHEMA`, `ERR_SVC_ROLLUP_ZONE`
 */
export async function checkSource(db: Queryable, definition: Definition): Promise<void> {
  const { givenSource, source, givenTenant, givenTime, zone } = definition;
  const { rows } = await explained(definition, () =>
    db.query<SourceRow>(sourceSql, [source, givenTime, givenTenant ?? null, zone]),
  );
  const [found] = rows;
  if (found?.present !== true) throw schema(`the source ${givenSource} is missing: make it first`);
  if (found.time === null) throw schema(`the source has no column ${givenSource}.${givenTime}`);
  if (found.time !== "timestamp with time zone") {
    throw schema(
      `${givenSource}.${givenTime} must be timestamptz, or its rows have no month; it is ${found.time}`,
    );
  }
  if (!found.tenant) throw schema(`the source has no column ${givenSource}.${givenTenant ?? ""}`);
  if (!found.exact) {
    throw schema(
      `${givenSource}.${givenTenant ?? ""} takes different texts for equal: its collation must be deterministic`,
    );
  }
  if (found.readable) await probe(db, definition);
}

async function probe(db: Queryable, definition: Definition): Promise<void> {
  try {
    // Without values: no placeholder is known to it.
    await db.query(probeSql(definition));
  } catch (error) {
    if (!(error instanceof Error) || !WRONG_SQL.test(sqlStateOf(error) ?? "")) throw error;
    // What is not closed is shown to its end, and that is ours.
    const [first = ""] = error.message.split("\n");
    throw schema(`the source cannot be added up as defined: ${first}`, { cause: error });
  }
}

/**
 * @throws RollupError `ERR_SVC_ROLLUP_SCHEMA` for totals of other groups, which an index of their name tells, and for a figure whose
 *   column has room for fewer digits: it would differ for ever
 */
export async function checkTotals(db: Queryable, definition: Definition): Promise<void> {
  const { table, givenTable, groups, measures } = definition;
  const [key] = (await db.query<{ columns: string[] | null }>(keySql, [keyName(definition)])).rows;
  const wanted = ["tenant_id", "month", ...groups.map(({ name }) => name)].join(", ");
  const columns = key?.columns?.join(", ") ?? wanted;
  if (columns !== wanted) {
    throw schema(`${givenTable} is of other groups, by ${columns} and not by ${wanted}: name another table`);
  }
  const { rows } = await db.query<{ name: string; digits: string }>(totalsSql, [table]);
  for (const { name, type } of measures) {
    const [, given] = /^(?:numeric|decimal|dec)(?:\((.*)\))?$/.exec(type) ?? [type, "none"];
    const [precision = "", scale = "0"] = given?.replaceAll(" ", "").split(",") ?? [];
    const digitsWanted = given === undefined ? "" : `${precision},${scale}`;
    const digits = rows.find((row) => row.name === name)?.digits ?? digitsWanted;
    if (given === "none" || digits === digitsWanted) continue;
    throw schema(
      `${givenTable}.${name} is numeric(${digits}), and the measure is ${type}: alter the column, then call rebuildAll()`,
    );
  }
}

function schema(message: string, options?: ErrorOptions): RollupError {
  return new RollupError("ERR_SVC_ROLLUP_SCHEMA", message, options);
}
