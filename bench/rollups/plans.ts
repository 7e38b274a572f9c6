import type { Queryable, QueryResult, Row } from "@svc/sql";

/** A node of `explain (format json)`. */
interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly Plan[];
}

type Explained = Record<"QUERY PLAN", readonly { readonly Plan: Plan }[]>;

/** One access of a statement to a table. */
export interface Reading {
  readonly table: string;
  readonly how: string;
}

/** A connection that records its statements. */
export interface Recording {
  readonly on: Queryable;
  readonly statements: readonly Statement[];
}

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

export function record(on: Queryable): Recording {
  const statements: Statement[] = [];
  return {
    statements,
    on: {
      query<R extends Row>(text: string, values: unknown[] = []): Promise<QueryResult<R>> {
        statements.push({ text, values });
        return on.query<R>(text, values);
      },
    },
  };
}

/** Returns the accesses of the statements to these tables. */
export async function readingsOf(
  on: Queryable,
  statements: readonly Statement[],
  tables: readonly string[],
): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  for (const { text, values } of statements) {
    if (!/^\s*(?:select|with|insert|delete)\b/i.test(text)) continue;
    if (!tables.some((table) => text.includes(table))) continue;
    const { rows } = await on.query<Explained>(`explain (format json) ${text}`, values);
    for (const plan of rows.flatMap((row) => row["QUERY PLAN"]).flatMap((each) => nodesOf(each.Plan))) {
      const table = plan["Relation Name"];
      // Skip nodes that write a table, because they name it too.
      if (table === undefined || !tables.includes(table) || plan["Node Type"] === "ModifyTable") continue;
      const conditions = nodesOf(plan).flatMap((node) => node["Index Cond"] ?? []);
      readings.push({ table, how: `${plan["Node Type"]} ${conditions.join(" and ")}`.trim() });
    }
  }
  return readings;
}

/**
 * @param columns the columns that the range must have
 * @throws Error that lists every access to a table that is not such a range of an index
 */
export function expectIndexRanges(
  what: string,
  readings: readonly Reading[],
  table: string,
  columns: readonly string[],
): void {
  const of = readings.filter((each) => each.table === table);
  const isRange = ({ how }: Reading): boolean =>
    /^(?:Index|Bitmap) /.test(how) && columns.every((column) => how.includes(column));
  const wrong = of.filter((each) => !isRange(each));
  if (of.length > 0 && wrong.length === 0) return;
  const seen = of.length === 0 ? "not at all" : wrong.map(({ how }) => how).join(", ");
  throw new Error(`${what}: ${table} should be read by ranges of ${columns.join(", ")} and is read: ${seen}`);
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
