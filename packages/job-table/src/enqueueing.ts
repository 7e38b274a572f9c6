import { type Queryable, type Row, SqlDeadlineError } from "@svc/sql";
import type { Enqueued } from "./job.ts";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import { isShared, sending, sendingPlanned } from "./query.ts";
import { type Reservation, reserve } from "./local-worker.ts";
import { type ClaimedRow, jobOf } from "./sql/claimed-row.ts";
import { enqueueAgain, enqueueClaimed, enqueueOneWith } from "./sql/enqueue.ts";

export interface Enqueueing {
  /** @param isOurs whether this process generated the id, so that it is unique */
  enqueue(row: NewRow, tx: Queryable | undefined, isOurs: boolean): Promise<Enqueued>;
}

/**
 * Creates the function that queues a job. For an idle worker in this process, the insert also claims the job if it is
 * due.
 *
 * @param channelToNotify returns the channel to notify, or undefined
 */
export function createEnqueueing(
  options: ResolvedOptions,
  channelToNotify: (tx: Queryable | undefined, rows: readonly NewRow[]) => string | undefined,
): Enqueueing {
  const { db, name, quotedTable, visibilityTimeoutSeconds, commandTimeoutMs, localWorkers } = options;
  const operation = "enqueue()";
  const send = sending(options, operation);
  const sendPlanned = sendingPlanned(options, operation);
  const enqueueOne = enqueueOneWith(quotedTable);
  // If the worker's connection hangs, half of the time remains for another connection.
  const half = sending(options, operation, Math.ceil(commandTimeoutMs / 2));

  async function insert(row: NewRow, tx?: Queryable): Promise<boolean> {
    const statement = enqueueOne(row, channelToNotify(tx, [row]));
    return (await sendPlanned(statement, tx)).length === 1;
  }

  function reservationFor({ task, delaySeconds, availableAt }: NewRow): Reservation | undefined {
    const isDue = delaySeconds === 0 && availableAt === null;
    // On a single connection the caller may have a transaction open, whose rollback would undo the claim.
    return isDue && isShared(db) ? reserve(localWorkers, task) : undefined;
  }

  async function insertClaimed(reservation: Reservation, row: NewRow): Promise<Enqueued> {
    const claimedAt = performance.now();
    const { text, values } = enqueueClaimed(quotedTable, row, visibilityTimeoutSeconds);
    let job: ClaimedRow | undefined;
    try {
      [job] = await (reservation.send === undefined
        ? send<ClaimedRow>(text, values)
        : half<ClaimedRow>(text, values, through(reservation.send)));
    } catch (error) {
      if (reservation.send !== undefined) return insertAgain(reservation, row, claimedAt);
      reservation.markLost(row.id);
      throw error;
    }
    if (job === undefined) {
      reservation.cancel();
      return { id: row.id, enqueued: false };
    }
    const late = reservation.accept(jobOf(job), claimedAt);
    if (late !== undefined) await late;
    return { id: row.id, enqueued: true };
  }

  /**
   * Inserts the job on another connection after the worker's connection failed. The insert waits for the failed
   * statement, and releases the job if that statement claimed it.
   */
  async function insertAgain(reservation: Reservation, row: NewRow, startedAt: number): Promise<Enqueued> {
    const { text, values } = enqueueAgain(
      quotedTable,
      row,
      visibilityTimeoutSeconds,
      channelToNotify(undefined, [row]),
    );
    const restMs = Math.max(1, Math.ceil(startedAt + commandTimeoutMs - performance.now()));
    try {
      await sending(options, operation, restMs)(text, values);
    } catch (error) {
      reservation.markLost(row.id);
      if (!(error instanceof SqlDeadlineError)) throw error;
      // The statement on the worker's connection may have queued the job although this one failed.
      throw new SqlDeadlineError(
        { operation: `${operation} of ${name}`, timeoutMs: commandTimeoutMs },
        "answer",
      );
    }
    reservation.cancel();
    return { id: row.id, enqueued: true };
  }

  return {
    async enqueue(row, tx, isOurs) {
      const reservation = isOurs && tx === undefined ? reservationFor(row) : undefined;
      if (reservation !== undefined) return insertClaimed(reservation, row);
      return { id: row.id, enqueued: await insert(row, tx) };
    },
  };
}

/** Returns a database that sends statements on the worker's own connection. */
function through(send: NonNullable<Reservation["send"]>): Queryable {
  return {
    query: async <R extends Row>(text: string, values: unknown[] = []) => ({
      rows: await send<R>(text, values),
    }),
  };
}
