import type { ReadinessCheck } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import type { Queryable } from "@svc/sql";
import { checkedIds, checkLease, checkWhole, MAX_ROWS } from "./arguments.ts";
import { createCalls } from "./claim-calls.ts";
import { createClaim } from "./claiming.ts";
import { errorText } from "./error-text.ts";
import { createEnqueueing } from "./enqueueing.ts";
import { refused } from "./errors.ts";
import type { DeadJob, Enqueued, FailOutcome, InTransaction, Job, JobStats, Lease, NewJob } from "./job.ts";
import { inOneOrder, type NewRow, newRow } from "./new-job.ts";
import { channelOf, createNotifier, QUIET_PAUSE_MS } from "./notifier.ts";
import { type JobTableOptions, type ResolvedOptions, resolveTableOptions } from "./options.ts";
import { isShared, sending, transactionOf } from "./query.ts";
import { createCheck } from "./readiness.ts";
import { ensureTable, type Migration, tableMigrations } from "./schema.ts";
import type { AnyTasks, TaskJob } from "./task-types.ts";
import type { Tasks } from "./tasks.ts";
import { deleteSql, deleteValues } from "./sql/ack.ts";
import { failSql } from "./sql/fail.ts";
import { leaseValues } from "./sql/lease-fence.ts";
import { releaseSql } from "./sql/release.ts";
import { enqueueRows } from "./sql/enqueue.ts";
import {
  countDeadSql,
  deadJobOf,
  type DeadRow,
  deadSql,
  reachSql,
  retrySql,
  statsSql,
} from "./sql/operator.ts";

/** Options of `fail()`. */
export interface FailOptions extends InTransaction {
  /** Whether to dead-letter the job immediately, even with attempts left. Default: false. */
  readonly dead?: boolean | undefined;
}

/**
 * A table of jobs. All times come from the server. A call rejects with a `SqlDeadlineError` after `commandTimeoutMs`.
 * Server and driver errors pass through unchanged. An invalid job, lease or number throws a `JobError` before anything
 * is sent.
 *
 * `Queued` and `Received` are the task maps of `defineTasks()`; without them any task can be queued with any payload.
 */
export interface JobTable<Queued extends AnyTasks = AnyTasks, Received extends AnyTasks = Queued> {
  readonly name: string;
  /** The option `tasks`, if set. */
  readonly tasks?: Tasks<Queued, Received> | undefined;
  readonly visibilityTimeoutSeconds: number;
  /**
   * Queues a job (JOB-3, JOB-27) with the request id, tenant and trace from the current context. A payload that does not
   * match the schema of its task is refused, and nothing is queued.
   */
  enqueue(job: TaskJob<Queued>, options?: InTransaction): Promise<Enqueued>;
  /** Queues up to 10,000 jobs in one statement, all or none. Returns the results in the order of `jobs`. */
  enqueueMany(jobs: readonly TaskJob<Queued>[], options?: InTransaction): Promise<readonly Enqueued[]>;
  /**
   * Claims up to `limit` jobs (1 to 1,000; default 1), each for the visibility timeout (JOB-4, JOB-5). Skips jobs
   * locked by other sessions; otherwise it returns fewer than `limit` only when no more are due. A job whose lease
   * expired on its last attempt is marked as dead instead (JOB-22), up to a second later while an old snapshot in
   * another session slows claims down. A job whose payload has an integer that JavaScript would round is marked as dead
   * and not returned (JOB-33). A job whose payload does not match the schema of its task fails, and is not returned.
   * Other jobs are claimed in place of both, until `commandTimeoutMs` has passed or 100 statements have found such jobs.
   */
  claim(limit?: number, options?: InTransaction): Promise<Job[]>;
  /**
   * Deletes a finished job (JOB-7). Returns false when the job was claimed again or recovered after its lease expired
   * (JOB-21).
   */
  ack(lease: Lease, options?: InTransaction): Promise<boolean>;
  /** Delays a failed job or marks it as dead (JOB-8, JOB-9). `error` can be any thrown value. */
  fail(lease: Lease, error: unknown, options?: FailOptions): Promise<FailOutcome>;
  /** Makes a job pending and due now, without counting the attempt (JOB-11). Returns false in the same case as `ack`. */
  release(lease: Lease, options?: InTransaction): Promise<boolean>;
  /** Returns dead jobs, most recently queued first (JOB-31). `limit`: 1 to 10,000, default 100. */
  dead(limit?: number): Promise<DeadJob[]>;
  /**
   * Makes dead jobs pending again with 0 attempts (JOB-12): the given ids or all. Returns the ids of the jobs that were
   * dead.
   */
  retryDead(ids: readonly string[] | "all", options?: InTransaction): Promise<string[]>;
  /** Counts the jobs in each state. Reads the whole table. */
  stats(): Promise<JobStats>;
  /**
   * Creates the table, or the parts of it that are missing (JOB-30).
   * @throws SchemaError for a table with other columns
   */
  ensureSchema(): Promise<"present" | "created">;
  /** Returns the statements of `ensureSchema()` for a migration tool. */
  migrations(): readonly Migration[];
  /** The readiness check `queue` for `/ready`. Always the same object. */
  readiness(): ReadinessCheck;
}

const MAX_BATCH_LENGTH = 64 * 2 ** 20;
const MAX_CLAIM = 1000;
const tables = new WeakMap<object, ResolvedOptions>();

/**
 * Returns the resolved options of a table.
 * @throws ConfigurationError for a table not created by {@link createJobTable}
 */
export function optionsOf(subject: string, table: JobTable): ResolvedOptions {
  const options = tables.get(table);
  if (options !== undefined) return options;
  throw new ConfigurationError(subject, [
    { key: "table", message: "must be a table returned by createJobTable()" },
  ]);
}

/**
 * Creates a client for a job table. Sends nothing before the first call.
 *
 * @throws ConfigurationError
 */
export function createJobTable<Queued extends AnyTasks = AnyTasks, Received extends AnyTasks = Queued>(
  given: JobTableOptions<Queued, Received>,
): JobTable<Queued, Received> {
  const options = resolveTableOptions(given);
  const { db, name, quotedTable: sql, visibilityTimeoutSeconds, notify, now } = options;
  const channel = channelOf(name);
  const rowOf = (job: NewJob, index?: number): NewRow => newRow(job, options, index);
  const { commandTimeoutMs, maintenanceTimeoutMs } = options;
  const send = {
    enqueueMany: sending(options, "enqueueMany()"),
    ack: sending(options, "ack()"),
    fail: sending(options, "fail()"),
    release: sending(options, "release()"),
    dead: sending(options, "dead()"),
    retryDead: sending(options, "retryDead()"),
    stats: sending(options, "stats()"),
    readiness: sending(options, "readiness()"),
    notify: sending(options, "the notification"),
  };
  const notifier = createNotifier(channel, options.notifyEveryMs, now, () =>
    send.notify("select pg_notify($1, '')", [channel]),
  );

  function channelToNotify(tx: Queryable | undefined, rows: readonly NewRow[]): string | undefined {
    // A sweep finds a job that becomes due later, so it needs no notification.
    const isSoon = rows.some(
      ({ delaySeconds, availableAt }) =>
        delaySeconds * 1000 <= QUIET_PAUSE_MS &&
        (availableAt === null || Date.parse(availableAt) <= Date.now() + QUIET_PAUSE_MS),
    );
    if (!notify || !isSoon) return undefined;
    return notifier.channelFor({ transaction: tx !== undefined || !isShared(db) });
  }

  const enqueueing = createEnqueueing(options, channelToNotify);
  const calls = createCalls(sql, options, sending(options, "claim()"));
  const claimed = createClaim(
    options,
    (limit, tx) => calls.claim(limit, tx),
    send.fail,
    notify ? channel : undefined,
  );
  const check = createCheck(
    {
      reach: () => send.readiness(reachSql(sql), []),
      countDead: async () => (await send.readiness<{ dead: number }>(countDeadSql(sql), []))[0]?.dead ?? 0,
    },
    now,
  );

  const table: JobTable<Queued, Received> = {
    name,
    tasks: given.tasks,
    visibilityTimeoutSeconds,
    async enqueue(job, options) {
      const tx = transactionOf(options);
      const row = rowOf(job);
      calls.queued(row);
      return enqueueing.enqueue(row, tx, job.id === undefined);
    },
    async enqueueMany(jobs, options) {
      const tx = transactionOf(options);
      if (!Array.isArray(jobs) || jobs.length > MAX_ROWS)
        throw refused(`jobs must be a list of at most ${MAX_ROWS} jobs`);
      if (jobs.length === 0) return [];
      const rows = jobs.map(rowOf);
      for (const row of rows) calls.queued(row);
      const length = rows.reduce((sum, { payload }) => sum + payload.length, 0);
      if (length > MAX_BATCH_LENGTH) {
        throw refused(
          `the payloads have ${length} characters in total; at most ${MAX_BATCH_LENGTH} are allowed`,
        );
      }
      const { text, values } = enqueueRows(sql, inOneOrder(jobs, rows), channelToNotify(tx, rows));
      const [answer] = await send.enqueueMany<{ made: number; ids: string[] | null }>(text, values, tx);
      if (answer?.made === rows.length) return rows.map(({ id }) => ({ id, enqueued: true }));
      const made = new Set(answer?.ids);
      // When two jobs in the batch have the same id, the first one is queued.
      return rows.map(({ id }) => ({ id, enqueued: made.delete(id) }));
    },
    async claim(limit = 1, options) {
      const tx = transactionOf(options);
      checkWhole("limit", limit, MAX_CLAIM);
      return claimed(limit, tx);
    },
    async ack(lease, options) {
      const tx = transactionOf(options);
      checkLease(lease);
      return (await send.ack(deleteSql(sql, 1), deleteValues([lease]), tx)).length === 1;
    },
    async fail(lease, error, options) {
      const tx = transactionOf(options, "dead");
      const dead = options?.dead ?? false;
      checkLease(lease);
      const values: unknown[] = [...leaseValues([lease]), [errorText(error)], [dead]];
      if (notify) values.push(channel);
      const [row] = await send.fail<{ status: string }>(failSql(sql, notify), values, tx);
      if (row === undefined) return "lost";
      return row.status === "dead" ? "dead" : "pending";
    },
    async release(lease, options) {
      const tx = transactionOf(options);
      checkLease(lease);
      const values: unknown[] = leaseValues([lease]);
      if (notify) values.push(channel);
      return (await send.release(releaseSql(sql, notify), values, tx)).length === 1;
    },
    async dead(limit = 100) {
      checkWhole("limit", limit, MAX_ROWS);
      return (await send.dead<DeadRow>(deadSql(sql), [limit])).map(deadJobOf);
    },
    async retryDead(ids, options) {
      const tx = transactionOf(options);
      const wanted = ids === "all" ? null : checkedIds(ids);
      const values = notify ? [wanted, channel] : [wanted];
      const rows = await send.retryDead<{ id: string }>(retrySql(sql, notify), values, tx);
      return rows.map(({ id }) => id);
    },
    async stats() {
      const [row] = await send.stats<{ pending: number; running: number; dead: number }>(statsSql(sql), []);
      return { pending: row?.pending ?? 0, running: row?.running ?? 0, dead: row?.dead ?? 0 };
    },
    ensureSchema: () => ensureTable(db, name, { commandTimeoutMs, maintenanceTimeoutMs }),
    migrations: () => tableMigrations(name),
    readiness: () => check,
  };
  tables.set(table, options);
  return table;
}
