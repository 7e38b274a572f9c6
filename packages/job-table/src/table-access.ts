import { ConfigurationError, integer, wrongValue } from "@svc/options";
import { type Database, queryWithin, type Row } from "@svc/sql";
import type { NewJob } from "./job.ts";
import { type JobTable, optionsOf } from "./job-table.ts";
import { newRow } from "./new-job.ts";
import { channelOf } from "./notifier.ts";
import { enqueueFrom } from "./sql/enqueue.ts";

/** An `insert` for the `with` clause of a larger statement. */
export interface EnqueuePart {
  /** Queues the job if `from` has a row; returns `id` when the id was new. */
  readonly text: string;
  /** Its nine parameters. */
  readonly values: readonly unknown[];
}

/** What a package needs to queue jobs in its own statements. */
export interface TableAccess {
  /** The table's database. */
  readonly db: Database;
  /** The channel for `pg_notify(channel, '')` after a job was queued. Undefined: notifications are off. */
  readonly channel: string | undefined;
  /**
   * Sends one statement to the table's database, on a pooled connection that is closed at the deadline.
   *
   * @throws SqlDeadlineError after `timeoutMs`; errors of the server
   */
  query<R extends Row>(text: string, values: unknown[]): Promise<R[]>;
  /**
   * Returns the `insert` of a job for one statement with the condition that decides whether to queue it. `from` is
   * trusted SQL, for instance a name of the same `with`; the parameters start at `$first`.
   *
   * @throws JobError for an invalid job
   */
  enqueuePart(job: NewJob, options: { readonly from: string; readonly first: number }): EnqueuePart;
}

/**
 * Gives another package access to a table, for statements that queue a job as one part.
 *
 * @param subject the calling factory, for its error messages
 * @param timeoutMs the deadline of a statement, 10 to 60,000
 * @throws ConfigurationError for a table that {@link createJobTable} did not create
 */
export function tableAccess(subject: string, table: JobTable, timeoutMs: number): TableAccess {
  const on = optionsOf(subject, table);
  const time = integer({ min: 10, max: 60_000 });
  if (!time.accepts(timeoutMs)) {
    throw new ConfigurationError(subject, [{ key: "timeoutMs", message: wrongValue(time, timeoutMs) }]);
  }
  const deadline = { operation: `a statement of ${subject.replace(/\(\)$/, "")} on ${on.name}`, timeoutMs };
  return {
    db: on.db,
    channel: on.notify ? channelOf(on.name) : undefined,
    query: async <R extends Row>(text: string, values: unknown[]) =>
      (await queryWithin<R>(on.db, deadline, text, values)).rows,
    enqueuePart: (job, { from, first }) =>
      enqueueFrom(on.quotedTable, newRow(job, on.maxPayloadBytes), from, first),
  };
}
