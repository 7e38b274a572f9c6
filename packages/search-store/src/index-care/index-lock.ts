import { setTimeout as pause } from "node:timers/promises";
import { type Database, isPool, original, type Queryable, withTransaction } from "@svc/sql";
import { SearchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import { STAY, TRY_LOCK } from "../sql/tenant-index.ts";

/** What the work answers that found somebody else at it. */
export const BUSY: unique symbol = Symbol("busy");
/** And that has to look again, a second later. */
export const AGAIN: unique symbol = Symbol("again");

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
/** An hour of pauses; between two builds there is always a chance. */
const ROUNDS = 3600;

// Whoever has the lock needs one connection more. Were many to hold one each, a pool would have none left for any of them.
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
 * Runs work on an index while nobody else, in any process, is at one of the table. The lock is held by a transaction that does nothing else, so
 * that it ends with the process and works behind a pooler of transactions; a build itself can be in no transaction, and runs
 * on another connection.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` when somebody else does not come to an end
 */
export async function underLock<T>(
  { db, table }: ResolvedOptions,
  index: string,
  work: (tx: Queryable) => Promise<T | typeof BUSY | typeof AGAIN>,
): Promise<T> {
  // With an older snapshot than its own the build would wait for this transaction, and this one for the build.
  const isolation = isPool(db) ? ({ isolation: "read committed" } as const) : {};
  // One for the whole table: two concurrent builds on one table may wait for each other, of which the server ends one.
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
    `somebody else is at the index ${index} and does not come to an end`,
  );
}
