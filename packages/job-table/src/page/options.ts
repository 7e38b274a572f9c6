import type { Logger, Middleware } from "@svc/context";
import { func, integer, objectWith, optional, resolveOptions, string, withDefault } from "@svc/options";
import { type JobTable, optionsOf } from "../job-table.ts";
import type { ResolvedOptions as TableOptions } from "../options.ts";

/** Options of {@link queueRoutes}. */
export interface QueueRoutesOptions {
  /** The result of `createJobTable()`. Required. */
  readonly table: JobTable;
  /** Path of the page, which also serves `/stats` and `/retry` below it. Default: `/queue`. */
  readonly path?: string | undefined;
  /**
   * Middleware that runs before all routes; only requests that it passes on reach them. Default: none, so every caller
   * can read the jobs' errors and retry jobs.
   */
  readonly guard?: Middleware | undefined;
  /** Logs every retry. Default: the logger in the request's context, if any. */
  readonly logger?: Pick<Logger, "info"> | undefined;
  /** Milliseconds after which an unresponsive table results in a 503, 10 to 60,000. Default: 5000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Returns the next scheduled jobs for the page, soonest first, with `at` in ISO 8601, for example with `nextTicks`
   * from `@svc/scheduler`. Default: the page shows no schedules.
   */
  readonly schedules?: (() => readonly ScheduleRow[]) | undefined;
  /** Returns the time to show on the page, in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The next job that a schedule will queue. */
export interface ScheduleRow {
  readonly name: string;
  readonly task: string;
  /** Due time in ISO 8601. */
  readonly at: string;
}

export interface ResolvedRoutes {
  readonly table: JobTable;
  readonly on: TableOptions;
  readonly path: string;
  readonly guard: Middleware | undefined;
  readonly logger: Pick<Logger, "info"> | undefined;
  readonly timeoutMs: number;
  readonly schedules: (() => readonly ScheduleRow[]) | undefined;
  readonly now: () => number;
}

const SUBJECT = "queueRoutes()";

/** @throws ConfigurationError */
export function resolveRoutesOptions(given: QueueRoutesOptions): ResolvedRoutes {
  const resolved = resolveOptions(SUBJECT, given, {
    table: objectWith<JobTable>("a job table", "stats", "retryDead"),
    path: withDefault(
      string({ pattern: /^(?:\/[\w~-][\w.~-]*)+$/, expects: "a path such as /queue" }),
      "/queue",
    ),
    guard: optional(func<Middleware>()),
    logger: optional(objectWith<Pick<Logger, "info">>("a logger", "info")),
    timeoutMs: withDefault(integer({ min: 10, max: 60_000 }), 5000),
    schedules: optional(func<() => readonly ScheduleRow[]>()),
    now: withDefault(func<() => number>(), () => Date.now()),
  });
  return { ...resolved, on: optionsOf(SUBJECT, resolved.table) };
}
