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

// Matches SQLSTATE codes of errors in the SQL itself (syntax, names, types, aggregates), but not of missing
// permissions.
const WRONG_SQL = /^(?:0A|22|42(?!501))/;

/**
 * Checks the source, and lets the server parse the statements that read it, without reading a row. Skips the parsing if
 * the role has no SELECT privilege on the source; the first refresh then reports errors.
 *
 * @throws RollupError `ERR_SVC_ROLLUP_SCHEMA`, `ERR_SVC_ROLLUP_ZONE`
 */
export async function checkSource(db: Queryable, definition: Definition): Promise<void> {
  const { givenSource, source, givenTenant, givenTime, zone } = definition;
  const { rows } = await explained(definition, () =>
    db.query<SourceRow>(sourceSql, [source, givenTime, givenTenant ?? null, zone]),
  );
  const [found] = rows;
  if (found?.present !== true) throw schema(`the source ${givenSource} is missing: create it first`);
  if (found.time === null) throw schema(`the source ${givenSource} has no column ${givenTime}`);
  if (found.time !== "timestamp with time zone") {
    throw schema(
      `${givenSource}.${givenTime} must be timestamptz, so that each row belongs to one month; it is ${found.time}`,
    );
  }
  if (!found.tenant) throw schema(`the source ${givenSource} has no column ${givenTenant ?? ""}`);
  if (!found.exact) {
    throw schema(
      `${givenSource}.${givenTenant ?? ""} treats different strings as equal: its collation must be deterministic`,
    );
  }
  if (found.readable) await probe(db, definition);
}

async function probe(db: Queryable, definition: Definition): Promise<void> {
  try {
    // Send the statement without values, so that a placeholder in the caller's SQL is an error.
    await db.query(probeSql(definition));
  } catch (error) {
    if (!(error instanceof Error) || !WRONG_SQL.test(sqlStateOf(error) ?? "")) throw error;
    // Keep the first line: for unclosed SQL the message quotes the rest of the statement, which is internal.
    const [first = ""] = error.message.split("\n");
    throw schema(`the source cannot be aggregated as defined: ${first}`, { cause: error });
  }
}

/**
 * Checks existing totals against the definition.
 * @throws RollupError `ERR_SVC_ROLLUP_SCHEMA` if the existing index shows that the totals have other groups, or if a
 *   measure's column has fewer digits than the measure, because such totals would always differ from their rows
 */
export async function checkTotals(db: Queryable, definition: Definition): Promise<void> {
  const { table, givenTable, groups, measures } = definition;
  const [key] = (await db.query<{ columns: string[] | null }>(keySql, [keyName(definition)])).rows;
  const wanted = ["tenant_id", "month", ...groups.map(({ name }) => name)].join(", ");
  const columns = key?.columns?.join(", ") ?? wanted;
  if (columns !== wanted) {
    throw schema(`${givenTable} is grouped by ${columns}, not by ${wanted}: choose another table`);
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

/** Returns whether a table exists. Its name is quoted. */
export async function exists(db: Queryable, table: string): Promise<boolean> {
  const { rows } = await db.query<{ present: boolean }>("select to_regclass($1) is not null as present", [
    table,
  ]);
  return rows[0]?.present === true;
}
