import { ConfigurationError, integer, wrongValue } from "@svc/options";
import { type Database, queryWithin, type Row } from "@svc/sql";
import type { NewJob } from "./job.ts";
import { type JobTable, optionsOf } from "./job-table.ts";
import { newRow } from "./new-job.ts";
import { channelOf } from "./notifier.ts";
import { enqueueFrom } from "./sql/enqueue.ts";

/** An `insert` for the `with` of a bigger statement. */
export interface EnqueuePart {
  /** Queues the job once for the row of `from`, not at all where it has none; returns `id` when the id was new. */
  readonly text: string;
  /** Its nine parameters. */
  readonly values: readonly unknown[];
}

/** What a package needs that queues jobs in statements of its own. */
export interface TableAccess {
  /** Where the table is. */
  readonly db: Database;
  /** What workers listen on: for `pg_notify(channel, '')` once a job was queued. Undefined: they are not told. */
  readonly channel: string | undefined;
  /**
   * Sends one statement to the table's database, on a connection of the pool that is closed when the time is up.
   *
   * @throws SqlDeadlineError after `timeoutMs`, and whatever the server says
   */
  query<R extends Row>(text: string, values: unknown[]): Promise<R[]>;
  /**
   * The `insert` of a job, to be one statement with what decides whether it is queued. `from` is trusted SQL, a name of the
   * same `with`, say; the parameters begin at `$first`.
   *
   * @throws JobError for what is no job
   */
  enqueuePart(job: NewJob, options: { readonly from: string; readonly first: number }): EnqueuePart;
}

/**
 * Opens a table to another package, for statements in which queueing a job is one part.
 *
 * @param subject the factory that asks, for its errors
 * @param timeoutMs how long a statement may take, 10 to 60,000
 * @throws ConfigurationError for what {@link createJobTable} has not made
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
