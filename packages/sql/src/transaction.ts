import { setTimeout as pause } from "node:timers/promises";
import { asError, sqlStateOf } from "./error-class.ts";
import { OptionError, TransactionError } from "./errors.ts";
import { hasFrame, openOwnFrame } from "./frames.ts";
import { withLentConnection } from "./lend.ts";
import { checkNames, checkWhole } from "./options.ts";
import { stuckOn } from "./query-within.ts";
import { type Database, isPool, type Queryable } from "./queryable.ts";
import { checkSettings, type Settings } from "./settings.ts";
import { type Plan, SAVEPOINT, type Statements, whole } from "./transaction-statements.ts";

export interface TransactionOptions {
  /** Isolation level. Default: the server's, usually `read committed`. Refused inside a transaction. */
  readonly isolation?: "read committed" | "repeatable read" | "serializable" | undefined;
  /** Whether PostgreSQL rejects writes. Default false. Refused inside a transaction. */
  readonly readOnly?: boolean | undefined;
  /**
   * How many times to run the whole function again after a serialization failure (40001) or a deadlock (40P01). Inside a
   * transaction it has no effect: only the outermost transaction can be retried. Default 0.
   */
  readonly retries?: number | undefined;
  /**
   * Server settings for this transaction only, for example `{ "svc.tenant": "acme" }`; they cost no round trip. A pool
   * connection is returned without them, even if `work` has set them for the session. Refused inside a transaction. Default
   * none.
   */
  readonly settings?: Settings | undefined;
}

const ISOLATIONS: readonly unknown[] = [undefined, "read committed", "repeatable read", "serializable"];
const RETRYABLE: ReadonlySet<string | undefined> = new Set(["40001", "40P01"]);

/**
 * Runs `work` in a transaction and returns its result. Commits when `work` returns, rolls back when it throws.
 *
 * Given a pool, it takes a connection and releases it, or closes it if the rollback failed. Given a connection, it uses that
 * connection; if a transaction is already open on it, a savepoint replaces the transaction. Transactions on one connection
 * may be nested but must not overlap.
 *
 * @throws the error of `work`, or the server's error on commit
 * @throws TransactionError when a statement failed and `work` swallowed its error, so that nothing could be committed
 * @throws OptionError
 */
export async function withTransaction<T>(
  db: Database,
  work: (tx: Queryable) => T | Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const subject = "withTransaction()";
  checkNames(subject, options, ["isolation", "readOnly", "retries", "settings"]);
  const { isolation, readOnly = false, retries = 0, settings = {} } = options;
  if (!ISOLATIONS.includes(isolation)) {
    const known = ISOLATIONS.slice(1).join(", ");
    throw new OptionError(`${subject}: isolation must be one of ${known}; it is ${String(isolation)}`);
  }
  if (typeof readOnly !== "boolean") throw new OptionError(`${subject}: readOnly must be true or false`);
  checkWhole(subject, "retries", retries);
  checkSettings(subject, settings);
  const set = Object.keys(settings).length > 0 ? settings : undefined;
  const mode = `${isolation === undefined ? "" : ` isolation level ${isolation}`}${readOnly ? " read only" : ""}`;
  return runTransaction(db, work, {
    begin: `begin${mode}`,
    nestable: mode === "" && set === undefined,
    retries,
    settings: set,
  });
}

/** Does the same as `withTransaction`, but with given opening and closing statements. */
export async function runTransaction<T>(
  db: Database,
  work: (tx: Queryable) => T | Promise<T>,
  plan: Plan,
): Promise<T> {
  const nested = !isPool(db) && (await isInTransaction(db));
  if (nested && !plan.nestable) {
    throw new TransactionError(
      "isolation, readOnly and settings apply to a whole transaction, and one is already open: set them where it begins",
    );
  }
  const statements = nested ? SAVEPOINT : whole(plan, isPool(db));
  for (let failures = 0; ; failures++) {
    try {
      return await (isPool(db)
        ? withLentConnection(db, (connection, onBroken) =>
            onConnection(connection, work, statements, onBroken),
          )
        : onConnection(db, work, statements));
    } catch (error) {
      if (nested || failures >= plan.retries || !RETRYABLE.has(sqlStateOf(error))) throw error;
      // A random pause: two transactions that collided would collide again if both restarted immediately.
      await pause(Math.random() * Math.min(200, 10 * 2 ** failures));
    }
  }
}

async function onConnection<T>(
  connection: Queryable,
  work: (tx: Queryable) => T | Promise<T>,
  statements: Statements,
  onBroken?: (error: Error) => void,
): Promise<T> {
  await begin(connection, statements, onBroken);
  const frame = openOwnFrame(connection);
  try {
    const result = await frame.run(() => work(connection));
    if (frame.lost !== undefined) throw frame.lost;
    if (frame.overlaps()) {
      throw new TransactionError(
        "two transactions overlap on one connection: await one before the next begins, or use a pool",
      );
    }
    const unanswered = stuckOn(connection);
    if (unanswered !== undefined) throw unanswered;
    await commit(connection, statements);
    return result;
  } catch (error) {
    // Other code ended the transaction: the connection may have settings of that code.
    if (frame.lost !== undefined) onBroken?.(frame.lost);
    frame.overlaps();
    frame.endInner();
    if (!frame.isInnermost()) {
      // Another transaction still uses the connection, and would share it with its next user.
      onBroken?.(asError(error));
      throw error;
    }
    const unanswered = stuckOn(connection);
    // A rollback would queue behind the pending statement.
    if (unanswered !== undefined) onBroken?.(unanswered);
    else if (onBroken !== undefined && isStuck(error)) onBroken(error);
    else await rollback(connection, statements, onBroken);
    throw error;
  } finally {
    frame.leave();
  }
}

/** Sends no rollback after a failed savepoint: it would undo the enclosing transaction. */
async function begin(
  connection: Queryable,
  statements: Statements,
  onBroken?: (error: Error) => void,
): Promise<void> {
  try {
    await connection.query(statements.begin);
  } catch (error) {
    if (onBroken !== undefined) onBroken(asError(error));
    else if (statements.mayHaveBegun) await rollback(connection, statements);
    throw error;
  }
}

async function commit(connection: Queryable, statements: Statements): Promise<void> {
  const answer: unknown = await connection.query(statements.commit);
  // Drivers return a list of results for several statements.
  const result = (Array.isArray(answer) ? answer[0] : answer) as { command?: unknown } | null | undefined;
  // PostgreSQL responds to the commit of a failed transaction with ROLLBACK and without an error.
  if (result?.command === "ROLLBACK") {
    throw new TransactionError(
      "the transaction was rolled back: a statement failed, and its error was not rethrown",
    );
  }
}

/** Never throws: the caller needs the first error. */
async function rollback(
  connection: Queryable,
  statements: Statements,
  onBroken?: (error: Error) => void,
): Promise<void> {
  try {
    for (const statement of statements.rollback) await connection.query(statement);
  } catch (error) {
    onBroken?.(asError(error));
  }
}

// Matches the text of pg's `query_timeout`. The statement still runs, and a rollback would queue behind it.
function isStuck(error: unknown): error is Error {
  return error instanceof Error && error.message === "Query read timeout";
}

async function isInTransaction(connection: Queryable): Promise<boolean> {
  if (hasFrame(connection)) return true;
  const { getTransactionStatus } = connection as { getTransactionStatus?: () => unknown };
  const status = getTransactionStatus?.call(connection);
  if (typeof status === "string") return status !== "I";
  // For a driver without a transaction status, ask the server.
  try {
    await connection.query("savepoint svc");
    await connection.query("release savepoint svc");
    return true;
  } catch (error) {
    if (sqlStateOf(error) === "25P01") return false;
    throw error;
  }
}
