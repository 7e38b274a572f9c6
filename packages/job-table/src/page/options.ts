import type { Logger, Middleware } from "@svc/context";
import { func, integer, objectWith, optional, resolveOptions, string, withDefault } from "@svc/options";
import { type JobTable, optionsOf } from "../job-table.ts";
import type { ResolvedOptions as TableOptions } from "../options.ts";

/** Options of {@link queueRoutes}. */
export interface QueueRoutesOptions {
  /** The result of `createJobTable()`. Required. */
  readonly table: JobTable;
  /** The path of the page; `/stats` and `/retry` are below it. Default: `/queue`. */
  readonly path?: string | undefined;
  /**
   * Middleware that runs before all routes; only requests that it passes on reach them. Default: none, so every caller
   * of the routes can read the errors of jobs and retry them.
   */
  readonly guard?: Middleware | undefined;
  /** Logs every retry. Default: the logger of the request's context, if any. */
  readonly logger?: Pick<Logger, "info"> | undefined;
  /** Milliseconds after which an unresponsive table results in a 503, 10 to 60,000. Default: 5000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Returns the next scheduled jobs for the page, soonest first, with `at` in ISO 8601, as `nextTicks` of
   * `@svc/scheduler` does. Default: the page shows no schedules.
   */
  readonly schedules?: (() => readonly ScheduleRow[]) | undefined;
  /** Returns the time that the page shows, in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The next job of a schedule. */
export interface ScheduleRow {
  readonly name: string;
  readonly task: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The options with all defaults applied. */
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
