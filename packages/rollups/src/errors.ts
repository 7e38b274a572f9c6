import { sqlStateOf, TableError } from "@svc/sql";

/** Codes of {@link RollupError}. */
export type RollupErrorCode =
  | "ERR_SVC_ROLLUP_ARGUMENT"
  | "ERR_SVC_ROLLUP_GROUP"
  | "ERR_SVC_ROLLUP_SCHEMA"
  | "ERR_SVC_ROLLUP_TENANT"
  | "ERR_SVC_ROLLUP_TRANSACTION"
  | "ERR_SVC_ROLLUP_ZONE";

/**
 * Error of a rollup's methods; its transaction changes no totals. `_ARGUMENT`: an invalid tenant, instant, date, group or
 * measure; nothing was sent to the database. `_TRANSACTION`: not a transaction, or not READ COMMITTED. `_TENANT`: row
 * security is on, and the transaction belongs to another tenant. `_GROUP`: a value to group by is too long. `_ZONE`:
 * the totals belong to another time zone, or the server does not know this one. `_SCHEMA`: the tables are missing or do
 * not match the definition.
 */
export class RollupError extends TableError<RollupErrorCode> {
  override readonly name = "RollupError";
}

export function refused(message: string): RollupError {
  return new RollupError("ERR_SVC_ROLLUP_ARGUMENT", message);
}

// SQLSTATE codes: missing schema, table, column, operator or function; type mismatch; not an aggregate; missing unique
// key.
const NOT_AS_DEFINED: ReadonlySet<string | undefined> = new Set(
  "3F000 42P01 42703 42883 42804 42803 42P10".split(" "),
);

/**
 * Runs a statement of this package and translates its errors.
 *
 * @throws RollupError `ERR_SVC_ROLLUP_ZONE` if the server does not know the zone, `ERR_SVC_ROLLUP_SCHEMA` if tables or
 *   columns are missing or different; other errors unchanged
 */
export async function explained<T>({ zone }: { readonly zone: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isZone = sqlStateOf(error) === "22023" && error instanceof Error && error.message.includes(zone);
    if (!isZone && NOT_AS_DEFINED.has(sqlStateOf(error)) && error instanceof Error) {
      throw new RollupError(
        "ERR_SVC_ROLLUP_SCHEMA",
        `the tables do not match the definition (${error.message}): call ensureSchema(), and rebuildAll() for a new definition`,
        { cause: error },
      );
    }
    if (!isZone) throw error;
    throw new RollupError("ERR_SVC_ROLLUP_ZONE", `the server does not know the time zone ${zone}`, {
      cause: error,
    });
  }
}
