import { sqlStateOf } from "@svc/sql";

/** What a {@link RollupError} is about. */
export type RollupErrorCode =
  | "ERR_SVC_ROLLUP_ARGUMENT"
  | "ERR_SVC_ROLLUP_GROUP"
  | "ERR_SVC_ROLLUP_SCHEMA"
  | "ERR_SVC_ROLLUP_TENANT"
  | "ERR_SVC_ROLLUP_TRANSACTION"
  | "ERR_SVC_ROLLUP_ZONE";

/**
 * `_ARGUMENT`: a tenant, moment, date, group or measure that is none; nothing was sent to the database. `_TRANSACTION`: no
 * transaction, or one of another isolation level than READ COMMITTED. `_TENANT`: row security is on, and the transaction
 * is another tenant's. `_GROUP`: a value to group by is too long. `_ZONE`: the totals were made for another time zone, or
 * the server does not know this one. `_SCHEMA`: the tables are not there, or not as they must be. After all of them the
 * totals are as they were.
 */
export class RollupError extends Error {
  override readonly name = "RollupError";
  readonly code: RollupErrorCode;

  constructor(code: RollupErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function refused(message: string): RollupError {
  return new RollupError("ERR_SVC_ROLLUP_ARGUMENT", message);
}

// No such schema, table, column, operator or function; types that do not fit; not an aggregate; no such key.
const NOT_AS_DEFINED: ReadonlySet<string | undefined> = new Set(
  "3F000 42P01 42703 42883 42804 42803 42P10".split(" "),
);

/**
 * Runs a statement of ours.
 *
 * @throws RollupError `ERR_SVC_ROLLUP_ZONE` where the server does not know the zone, `ERR_SVC_ROLLUP_SCHEMA` where tables or
 *   columns are missing or other ones; everything else as it comes
 */
export async function explained<T>({ zone }: { readonly zone: string }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isZone = sqlStateOf(error) === "22023" && error instanceof Error && error.message.includes(zone);
    if (!isZone && NOT_AS_DEFINED.has(sqlStateOf(error)) && error instanceof Error) {
      throw new RollupError(
        "ERR_SVC_ROLLUP_SCHEMA",
        `the tables are not those of the definition (${error.message}): call ensureSchema(), and rebuildAll() if it is new`,
        { cause: error },
      );
    }
    if (!isZone) throw error;
    throw new RollupError("ERR_SVC_ROLLUP_ZONE", `the server does not know the time zone ${zone}`, {
      cause: error,
    });
  }
}
