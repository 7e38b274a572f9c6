import { hostname } from "node:os";
import type { Logger } from "@svc/context";
import { type JobTable, type TableAccess, tableAccess } from "@svc/job-table";
import {
  ConfigurationError,
  func,
  integer,
  type Kind,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { MAINTENANCE_TIMEOUT_MS, maintenanceTimeoutKind, qualified, tableNameKind } from "@svc/sql";
import type { SchedulerEvent } from "./events.ts";
import { isRecord, type ResolvedSchedule, resolveSchedules, type Schedules } from "./schedule.ts";

/** Default name of the table of ticks. */
export const DEFAULT_TICKS_TABLE = "svc_schedule_ticks";

/** Options of {@link createScheduler}. */
export interface SchedulerOptions {
  /** Job table from `createJobTable()`: jobs are queued there, and its database holds the ticks. Required. */
  readonly table: JobTable;
  /** Schedules by name, up to 1,000; a name has at most 128 characters. Required. */
  readonly schedules: Schedules;
  /** Table of ticks in the same database, by name (at most 48 bytes) or `schema.name`. Default: `svc_schedule_ticks`. */
  readonly ticksTable?: string | undefined;
  /** Days to keep ticks, 1 to 3,650; the newest tick of each schedule is kept forever. Default: 7. */
  readonly retentionDays?: number | undefined;
  /** Milliseconds that a statement may take, including its wait for a connection, 10 to 60,000. Default: 5000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Milliseconds for each statement of `ensureSchema()` that creates something, 10 to 86,400,000. Default: 600,000. */
  readonly maintenanceTimeoutMs?: number | undefined;
  /** Clock in milliseconds since the Unix epoch. Default: the database's clock. */
  readonly now?: (() => number) | undefined;
  /** Logs every tick and every failure. Default: none. */
  readonly logger?: Pick<Logger, "info" | "warn" | "error"> | undefined;
  /** Receives every event, for example for metrics. Default: none. */
  readonly onEvent?: ((event: SchedulerEvent) => void) | undefined;
}

/** The options with every default filled in. */
export interface ResolvedScheduler {
  readonly access: TableAccess;
  readonly schedules: readonly ResolvedSchedule[];
  readonly ticksTable: string;
  readonly quotedTicks: string;
  readonly retentionMs: number;
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
  readonly now: (() => number) | undefined;
  readonly logger: Pick<Logger, "info" | "warn" | "error"> | undefined;
  readonly onEvent: ((event: SchedulerEvent) => void) | undefined;
  /** Host and process id, stored with each claim for people who read the table. */
  readonly claimant: string;
}

const SUBJECT = "createScheduler()";
const tableName = tableNameKind(48);
const MAX_CLAIMANT = 255;
// Rejects lists, whose names would change with their order, and Maps, which have no members.
const byName: Kind<Schedules> = {
  expects: "an object of schedules by name",
  accepts: (value): value is Schedules => isRecord(value),
};

/** @throws ConfigurationError */
export function resolveSchedulerOptions(given: SchedulerOptions): ResolvedScheduler {
  const {
    table,
    schedules,
    ticksTable,
    retentionDays,
    commandTimeoutMs,
    maintenanceTimeoutMs,
    now,
    logger,
    onEvent,
  } = resolveOptions(SUBJECT, given, {
    table: objectWith<JobTable>("a job table", "enqueue"),
    schedules: byName,
    ticksTable: withDefault(string(), DEFAULT_TICKS_TABLE),
    retentionDays: withDefault(integer({ min: 1, max: 3650 }), 7),
    commandTimeoutMs: withDefault(integer({ min: 10, max: 60_000 }), 5000),
    maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
    now: optional(func<() => number>()),
    logger: optional(
      objectWith<Pick<Logger, "info" | "warn" | "error">>("a logger", "info", "warn", "error"),
    ),
    onEvent: optional(func<(event: SchedulerEvent) => void>()),
  });
  const access = tableAccess(SUBJECT, table, commandTimeoutMs);
  const resolved = resolveSchedules(SUBJECT, schedules, access);
  if (!tableName.accepts(ticksTable)) {
    throw new ConfigurationError(SUBJECT, [{ key: "ticksTable", message: `must be ${tableName.expects}` }]);
  }
  return {
    access,
    schedules: resolved,
    ticksTable,
    quotedTicks: qualified(ticksTable),
    retentionMs: retentionDays * 86_400_000,
    commandTimeoutMs,
    maintenanceTimeoutMs,
    now: now && checked(now),
    logger,
    onEvent,
    claimant: `${hostname()}:${process.pid}`.slice(-MAX_CLAIMANT),
  };
}

// The largest timestamp with a four-digit ISO 8601 year.
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Returns a clock that throws for an invalid time: with NaN, no tick would be due and no pause would end. */
function checked(now: () => number): () => number {
  return () => {
    const ms = now();
    if (ms >= 0 && ms <= LAST_MS) return ms;
    throw new RangeError(`now() must answer milliseconds since the Unix epoch; it answered ${String(ms)}`);
  };
}
