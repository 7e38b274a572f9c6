import { hostname } from "node:os";
import type { Logger } from "@svc/context";
import { type AnyTasks, type NotInferred, type JobTable, tableAccess } from "@svc/job-table";
import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf, pickOptions } from "@svc/options";
import { MAINTENANCE_TIMEOUT_MS, maintenanceTimeoutKind, qualified, tableNameKind } from "@svc/sql";
import type { SchedulerEvent } from "./events.ts";
import { isRecord, resolveSchedules, type Schedules } from "./schedule.ts";
import { ticksOptions } from "./ticks-options.ts";

const tableName = tableNameKind(48);
const MAX_CLAIMANT = 255;
// Rejects lists, because the names of their schedules would change with the order, and Maps, because their entries are
// not properties.
const byName: k.Kind<Schedules> = {
  expects: "an object of schedules by name",
  accepts: (value): value is Schedules => isRecord(value),
};

export const schedulerOptions = defineOptions("createScheduler()", {
  /** Job table from `createJobTable()`: jobs are queued in it, and its database stores the ticks. Required. */
  table: { kind: k.objectWith<JobTable>("a job table", "enqueue") },
  /** Schedules by name, up to 1,000; a name has at most 128 characters. Required. */
  schedules: { kind: byName },
  ...pickOptions(ticksOptions, "ticksTable", "retentionDays"),
  /** Time limit for a statement, including waiting for a connection, in milliseconds, 10 to 60,000. Default: 5000. */
  commandTimeoutMs: { kind: k.withDefault(k.integer({ min: 10, max: 60_000 }), 5000) },
  /**
   * Time limit for each statement of `ensureSchema()` that creates something, in milliseconds, 10 to 86,400,000. Default:
   * 600,000.
   */
  maintenanceTimeoutMs: { kind: k.withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS) },
  /** Clock in milliseconds since the Unix epoch. Default: the database's clock. */
  now: { kind: k.optional(k.func<() => number>()) },
  /** Logs every tick, with `schedule`, `task`, `job_id` and `at`, and every failure. Default: none. */
  logger: {
    kind: k.optional(
      k.objectWith<Pick<Logger, "info" | "warn" | "error">>("a logger", "info", "warn", "error"),
    ),
  },
  /** Receives `fired`, `skipped`, `failed` (one schedule) and `fault` (the database is down), for metrics. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: SchedulerEvent) => void>()) },
});

/** Options of {@link createScheduler}. */
export interface SchedulerOptions<Queued extends AnyTasks = AnyTasks> extends Omit<
  OptionsOf<typeof schedulerOptions>,
  "table" | "schedules"
> {
  /** Job table from `createJobTable()`: jobs are queued in it, and its database stores the ticks. Required. */
  readonly table: JobTable<Queued, AnyTasks>;
  /** Schedules by name, up to 1,000; a name has at most 128 characters. Required. */
  readonly schedules: Schedules<NotInferred<Queued>>;
}

/**
 * Checks the options and resolves the schedules.
 *
 * @throws ConfigurationError
 */
export function resolveSchedulerOptions(given: object) {
  const options = schedulerOptions.resolve(given);
  const { table, ticksTable, now } = options;
  const names = namesOf(given, schedulerOptions.subject);
  const access = tableAccess(schedulerOptions.subject, table, options.commandTimeoutMs);
  const schedules = resolveSchedules(names.subject, options.schedules, access);
  if (!tableName.accepts(ticksTable)) throw optionError(names, "ticksTable", `must be ${tableName.expects}`);
  return {
    ...options,
    access,
    schedules,
    quotedTicks: qualified(ticksTable),
    retentionMs: options.retentionDays * 86_400_000,
    now: now && checked(now),
    /** Host and process id, stored with each claim for people who read the table. */
    claimant: `${hostname()}:${process.pid}`.slice(-MAX_CLAIMANT),
  };
}

// The largest timestamp with a four-digit ISO 8601 year.
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Returns a clock that throws for an invalid time: with NaN, no tick would ever be due and no pause would end. */
function checked(now: () => number): () => number {
  return () => {
    const ms = now();
    if (ms >= 0 && ms <= LAST_MS) return ms;
    throw new RangeError(`now() must return milliseconds since the Unix epoch; it returned ${String(ms)}`);
  };
}
