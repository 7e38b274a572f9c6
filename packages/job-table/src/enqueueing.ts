import { type Queryable, type Row, SqlDeadlineError } from "@svc/sql";
import type { Enqueued } from "./job.ts";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import { isShared, sending, sendingPlanned } from "./query.ts";
import { type ClaimedRow, jobOf } from "./sql/claim.ts";
import { enqueueAgain, enqueueClaimed, enqueueOneWith } from "./sql/enqueue.ts";
import { type Place, reserve } from "./taker.ts";

/** Queues jobs one by one. */
export interface Enqueueing {
  /** @param isOurs whether the id was drawn for it: it is in no table yet, and nobody else knows it */
  enqueue(row: NewRow, tx: Queryable | undefined, isOurs: boolean): Promise<Enqueued>;
}

/**
 * A job that may begin at once is claimed in the same statement where a worker of this process has nothing to do.
 *
 * @param told the channel, when the statement that queues these is to notify
 */
export function createEnqueueing(
  options: ResolvedOptions,
  told: (tx: Queryable | undefined, rows: readonly NewRow[]) => string | undefined,
): Enqueueing {
  const { db, name, quotedTable, visibilityTimeoutSeconds, commandTimeoutMs, takers } = options;
  const operation = "enqueue()";
  const send = sending(options, operation);
  const sendPlanned = sendingPlanned(options, operation);
  const enqueueOne = enqueueOneWith(quotedTable);
  // Where the worker's own connection hangs, another one has the rest of the time.
  const half = sending(options, operation, Math.ceil(commandTimeoutMs / 2));

  async function insert(row: NewRow, tx?: Queryable): Promise<boolean> {
    const statement = enqueueOne(row, told(tx, [row]));
    return (await sendPlanned(statement, tx)).length === 1;
  }

  function placeFor({ task, delaySeconds, availableAt }: NewRow): Place | undefined {
    const isDue = delaySeconds === 0 && availableAt === null;
    // What is queued on a connection may be part of a transaction.
    return isDue && isShared(db) ? reserve(takers, task) : undefined;
  }

  async function insertClaimed(place: Place, row: NewRow): Promise<Enqueued> {
    const claimedAt = performance.now();
    const { text, values } = enqueueClaimed(quotedTable, row, visibilityTimeoutSeconds);
    let job: ClaimedRow | undefined;
    try {
      [job] = await (place.send === undefined
        ? send<ClaimedRow>(text, values)
        : half<ClaimedRow>(text, values, through(place.send)));
    } catch (error) {
      if (place.send !== undefined) return insertAgain(place, row, claimedAt);
      place.lose(row.id);
      throw error;
    }
    if (job === undefined) {
      place.pass();
      return { id: row.id, enqueued: false };
    }
    const late = place.take(jobOf(job), claimedAt);
    if (late !== undefined) await late;
    return { id: row.id, enqueued: true };
  }

  /** The worker's connection has failed. This one waits for what that one did and gives it back, or has it do nothing. */
  async function insertAgain(place: Place, row: NewRow, startedAt: number): Promise<Enqueued> {
    const { text, values } = enqueueAgain(quotedTable, row, visibilityTimeoutSeconds, told(undefined, [row]));
    const restMs = Math.max(1, Math.ceil(startedAt + commandTimeoutMs - performance.now()));
    try {
      await sending(options, operation, restMs)(text, values);
    } catch (error) {
      place.lose(row.id);
      if (!(error instanceof SqlDeadlineError)) throw error;
      // Whatever became of this statement, the first one was sent and may have queued the job.
      throw new SqlDeadlineError(
        { operation: `${operation} of ${name}`, timeoutMs: commandTimeoutMs },
        "answer",
      );
    }
    place.pass();
    return { id: row.id, enqueued: true };
  }

  return {
    async enqueue(row, tx, isOurs) {
      const place = isOurs && tx === undefined ? placeFor(row) : undefined;
      if (place !== undefined) return insertClaimed(place, row);
      return { id: row.id, enqueued: await insert(row, tx) };
    },
  };
}

/** The worker's own connection. */
function through(send: NonNullable<Place["send"]>): Queryable {
  return {
    query: async <R extends Row>(text: string, values: unknown[] = []) => ({
      rows: await send<R>(text, values),
    }),
  };
}
