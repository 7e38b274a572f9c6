import type { Logger, Middleware } from "@svc/context";
import { func, integer, objectWith, optional, resolveOptions, string, withDefault } from "@svc/options";
import { type JobTable, optionsOf } from "../job-table.ts";
import type { ResolvedOptions as TableOptions } from "../options.ts";

/** What {@link queueRoutes} takes. */
export interface QueueRoutesOptions {
  /** What `createJobTable()` answers. Required. */
  readonly table: JobTable;
  /** Where the page is; `/stats` and `/retry` are below it. Default: `/queue`. */
  readonly path?: string | undefined;
  /**
   * Runs in front of all of it: whoever it does not call on for sees nothing. Default: none, so that everybody who reaches
   * the routes sees the errors of jobs and can retry them.
   */
  readonly guard?: Middleware | undefined;
  /** Gets a line for every retry. Default: the logger of the request's context, if it has one. */
  readonly logger?: Pick<Logger, "info"> | undefined;
  /** Milliseconds after which a table that does not answer is a 503, 10 to 60,000. Default: 5000. */
  readonly timeoutMs?: number | undefined;
  /**
   * What is queued by the time, for the page to show: the soonest first, `at` as ISO 8601; `nextTicks` of `@svc/scheduler`
   * answers that. Default: the page has no such part.
   */
  readonly schedules?: (() => readonly ScheduleRow[]) | undefined;
  /** The moment that the page says it is of, in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** When a schedule queues its next job. */
export interface ScheduleRow {
  readonly name: string;
  readonly task: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The options with every default filled in. */
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
