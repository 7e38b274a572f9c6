import { AsyncLocalStorage } from "node:async_hooks";
import { calmLogger, type CheckResult, type ReadinessCheck } from "@svc/context";
import type { Migration } from "@svc/job-table";
import { atMostEvery } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";
import { createTell } from "./events.ts";
import { resolveSchedulerOptions, type SchedulerOptions } from "./options.ts";
import { type Begun, createPasses, type Pass, RETRY_MS } from "./pass.ts";
import { ensureTicks, ticksMigrations } from "./schema.ts";
import { createTickStore } from "./tick-store.ts";

/** The next tick of a schedule. */
export interface NextTick {
  /** The schedule. */
  readonly name: string;
  readonly task: string;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

/** Queues a job at every tick of its schedules, however many schedulers there are (SCH-1). */
export interface Scheduler extends AsyncDisposable {
  /** Begins to watch the time; a second call does nothing. @throws Error when it was stopped */
  start(): void;
  /** Fires nothing more and waits for statements under way, which are bounded. Never rejects. */
  stop(): Promise<void>;
  /** When each schedule comes next, the soonest first. Sends nothing. @throws RangeError for a `now` that shows no time */
  nextTicks(): readonly NextTick[];
  /** Looks once at all schedules, started or not: for scripts and tests. @throws what the database says */
  runDue(): Promise<Pass>;
  /** The check `scheduler`, never critical. Always the same object. */
  readiness(): ReadinessCheck;
  /** Makes the table of ticks where it is missing. @throws SchemaError for a table that is another one */
  ensureSchema(): Promise<"present" | "created">;
  /** The same for a migration tool. */
  migrations(): readonly Migration[];
}

const MAX_SLEEP_MS = 30_000;
const WARN_EVERY_MS = 10_000;

// A scheduler that is started by a request or a job is no part of it.
const outside = AsyncLocalStorage.snapshot();

/**
 * Makes a scheduler. Nothing is sent before `start()` or `runDue()`.
 *
 * @throws ConfigurationError for wrong options, naming the schedule and its field
 */
export function createScheduler(given: SchedulerOptions): Scheduler {
  const options = resolveSchedulerOptions(given);
  const { access, schedules, ticksTable, quotedTicks, retentionMs, now, claimant } = options;
  const { commandTimeoutMs, maintenanceTimeoutMs } = options;
  const logger = calmLogger(options.logger);
  const tell = createTell(options.onEvent, logger);
  const store = createTickStore(quotedTicks, access, claimant);
  const passes = createPasses(store, schedules, { retentionMs, now, tell, logger });
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.error({ reason: safeErrorText(error), suppressed }, "the scheduler cannot reach its ticks"),
  );

  let last: Promise<unknown> = Promise.resolve();
  const underWay = new Set<Promise<unknown>>();
  let looping: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  let fault: string | undefined;
  // What the clock that decides is ahead of our own, which never goes back.
  let ahead: number | undefined;

  function currentMs(): number {
    if (now !== undefined) return now();
    return ahead === undefined ? Date.now() : performance.now() + ahead;
  }

  /** One look after another: two at once would only find each other's ticks claimed. */
  async function begin(retry: boolean): Promise<Begun> {
    const next = last.then(() =>
      passes.begin({
        retry,
        onTime(nowMs) {
          ahead = nowMs - performance.now();
        },
      }),
    );
    last = next.catch(() => undefined);
    const begun = await next;
    underWay.add(begun.ended);
    void begun.ended.finally(() => underWay.delete(begun.ended));
    return begun;
  }

  async function watch(): Promise<void> {
    while (stopping === undefined) {
      let pauseMs: number;
      try {
        const { ended } = await begin(false);
        if (fault !== undefined) logger?.info({}, "the scheduler reaches its ticks again");
        fault = undefined;
        // What hangs must not keep others from their ticks.
        void ended.then(report);
        pauseMs = Math.min(MAX_SLEEP_MS, untilNext());
      } catch (error) {
        pauseMs = RETRY_MS;
        fault = safeErrorText(error);
        warn(error);
        tell({ type: "fault", error });
      }
      if (stopping === undefined) await pauseFor(Math.min(pauseMs, untilRetry()));
    }
  }

  function report({ failed }: Pass): void {
    if (failed.length === 0) return;
    for (const { name, error } of failed) {
      logger?.error({ schedule: name, reason: safeErrorText(error) }, "a schedule cannot queue its job");
    }
    // Its pause knows nothing of them.
    wake?.();
  }

  function untilRetry(): number {
    const retryAt = Math.min(...passes.failing.values());
    return Math.max(1, Math.ceil(retryAt - performance.now()));
  }

  function untilNext(): number {
    const nowMs = currentMs();
    const next = Math.min(...schedules.map(({ times }) => times.after(nowMs)));
    // A timer may ring a little early.
    return Math.max(1, Math.ceil(next - nowMs) + 1);
  }

  async function pauseFor(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wake = undefined;
  }

  async function shutdown(): Promise<void> {
    wake?.();
    await looping;
    await last;
    await Promise.all(underWay);
  }

  function check(): CheckResult {
    const meta = { schedules: schedules.length };
    if (stopping !== undefined) return { healthy: false, detail: "stopped", meta };
    if (looping === undefined) return { healthy: false, detail: "not started", meta };
    if (fault !== undefined) return { healthy: false, detail: `not answering (${fault})`, meta };
    const [name] = passes.failing.keys();
    if (name === undefined) return { healthy: true, detail: "on time", meta };
    const failing = passes.failing.size;
    return {
      healthy: false,
      detail: `${failing} schedule(s) fail, ${name} among them`,
      meta: { ...meta, failing },
    };
  }
  const readiness: ReadinessCheck = { name: "scheduler", critical: false, check };

  const scheduler: Scheduler = {
    start() {
      if (stopping !== undefined)
        throw new Error("a scheduler that was stopped does not start again: make another one");
      looping ??= outside(watch);
    },
    stop() {
      stopping ??= Promise.resolve().then(shutdown);
      return stopping;
    },
    nextTicks() {
      const nowMs = currentMs();
      return schedules
        .map(({ name, task, times }) => ({ name, task, ms: times.after(nowMs) }))
        .filter(({ ms }) => ms !== Infinity)
        .sort((a, b) => a.ms - b.ms)
        .map(({ name, task, ms }) => ({ name, task, at: new Date(ms).toISOString() }));
    },
    runDue: async () => (await begin(true)).ended,
    readiness: () => readiness,
    ensureSchema: () => ensureTicks(access.db, ticksTable, { commandTimeoutMs, maintenanceTimeoutMs }),
    migrations: () => ticksMigrations(ticksTable),
    [Symbol.asyncDispose]: () => scheduler.stop(),
  };
  return scheduler;
}
