import { setTimeout as pause } from "node:timers/promises";
import { type Database, isPool, original, type Queryable, withTransaction } from "@svc/sql";
import { SearchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";

/** Returned by work that must be retried because another session is working on an index of the table. */
export const BUSY: unique symbol = Symbol("busy");
/** Returned by work that must be retried after one second. */
export const AGAIN: unique symbol = Symbol("again");

/**
 * Tries to lock the name ($1) until the end of the transaction, without waiting. A concurrent build waits for running
 * statements, so a session that waited for the lock inside a statement would block the build that holds the lock.
 */
const TRY_LOCK = "select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as locked";

/** Disables timeouts for the idle transaction that holds the lock during a build. */
const STAY = `
select set_config(name, '0', true) from pg_catalog.pg_settings
where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
/** Maximum number of attempts, about an hour. */
const ROUNDS = 3600;

// The last queued work of each pool. Work on an index needs two connections, so concurrent work could exhaust the pool.
const last = new WeakMap<Database, Promise<unknown>>();

function inTurn<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const key = original(db);
  const turn = (last.get(key) ?? Promise.resolve()).then(work);
  last.set(
    key,
    turn.catch(() => undefined),
  );
  return turn;
}

/**
 * Runs work on an index while no other process works on an index of the table. A transaction that does nothing else holds
 * the lock, so that the lock ends with the process and works behind a transaction pooler. A concurrent build cannot run in a
 * transaction, so it uses another connection.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` if another process does not finish within about an hour
 */
export async function underLock<T>(
  { db, table }: ResolvedOptions,
  index: string,
  work: (tx: Queryable) => Promise<T | typeof BUSY | typeof AGAIN>,
): Promise<T> {
  // READ COMMITTED: with an older snapshot, the build would wait for this transaction, and this transaction for the build.
  const isolation = isPool(db) ? ({ isolation: "read committed" } as const) : {};
  // One lock for the whole table: two concurrent builds on one table may deadlock, and the server ends one of them.
  const key = `svc/search/index/${JSON.stringify(table)}`;
  let wait = FIRST_PAUSE_MS;
  for (let round = 0; round < ROUNDS; round++) {
    const answer = await inTurn(db, () =>
      withTransaction(
        db,
        async (tx) => {
          const { rows } = await tx.query<{ locked: boolean }>(TRY_LOCK, [key]);
          if (rows[0]?.locked !== true) return BUSY;
          await tx.query(STAY);
          return work(tx);
        },
        isolation,
      ),
    );
    if (answer !== BUSY && answer !== AGAIN) return answer;
    await pause(answer === BUSY ? wait : LONGEST_PAUSE_MS);
    wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
  }
  throw new SearchError(
    "ERR_SVC_SEARCH_INDEX",
    `another process is working on the index ${index} and did not finish in time`,
  );
}
