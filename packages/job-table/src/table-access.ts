import { ConfigurationError, integer, wrongValue } from "@svc/options";
import { type Database, queryWithin, type Row } from "@svc/sql";
import type { NewJob } from "./job.ts";
import { type JobTable, optionsOf } from "./job-table.ts";
import { newRow } from "./new-job.ts";
import { channelOf } from "./notifier.ts";
import { enqueueFrom } from "./sql/enqueue.ts";

/** An `insert` for the `with` clause of a larger statement. */
export interface EnqueuePart {
  /** Queues the job if the relation `from` has a row. Returns `id` if the id was new. */
  readonly text: string;
  /** The nine parameters of `text`. */
  readonly values: readonly unknown[];
}

/** Access to a job table for a package that queues jobs in its own statements. */
export interface TableAccess {
  /** The table's database. */
  readonly db: Database;
  /** The channel for `pg_notify(channel, '')` after a job was queued; undefined if notifications are off. */
  readonly channel: string | undefined;
  /**
   * Sends one statement to the table's database, on a pooled connection that is closed at the deadline.
   *
   * @throws SqlDeadlineError after `timeoutMs`; server errors
   */
  query<R extends Row>(text: string, values: unknown[]): Promise<R[]>;
  /**
   * Returns the `insert` for a job, to be combined in one statement with the condition that decides whether to queue
   * it. `from` is trusted SQL, for example a name in the same `with` clause. The parameters start at `$first`.
   *
   * @throws JobError for an invalid job
   */
  enqueuePart(job: NewJob, options: { readonly from: string; readonly first: number }): EnqueuePart;
}

/**
 * Gives another package access to a table, for larger statements that also queue a job.
 *
 * @param subject the calling factory, for its error messages
 * @param timeoutMs deadline for a statement, 10 to 60,000
 * @throws ConfigurationError for a table not created by {@link createJobTable}
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
    enqueuePart: (job, { from, first }) => enqueueFrom(on.quotedTable, newRow(job, on), from, first),
  };
}
