import { AsyncLocalStorage } from "node:async_hooks";
import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { AnyTasks } from "@svc/job-table";
import { atMostEvery, createEmitter, safeLogger } from "@svc/resilience";
import { type Migration, safeErrorText } from "@svc/sql";
import { resolveSchedulerOptions, type SchedulerOptions } from "./options.ts";
import { createPasses, type Pass, RETRY_MS, type RunningPass } from "./pass.ts";
import { ensureTicks, ticksMigrations } from "./schema.ts";
import { createTickStore } from "./tick-store.ts";

/** The next tick of a schedule. */
export interface NextTick {
  /** Name of the schedule. */
  readonly name: string;
  readonly task: string;
  /** Time of the tick, ISO 8601 in UTC. */
  readonly at: string;
}

/** Queues one job at every tick of its schedules, regardless of the number of schedulers (SCH-1). */
export interface Scheduler extends AsyncDisposable {
  /** Starts firing ticks; a second call does nothing. @throws Error after `stop()` */
  start(): void;
  /** Stops firing ticks and waits for running statements, which have deadlines. Never rejects. */
  stop(): Promise<void>;
  /**
   * Returns the next tick of each schedule, soonest first, without sending a statement. @throws RangeError for an
   * invalid `now`
   */
  nextTicks(): readonly NextTick[];
  /** Runs one pass over all schedules, even before `start()`: for scripts and tests. @throws the database's error */
  runDue(): Promise<Pass>;
  /** Returns the readiness check `scheduler`, which is never critical. Always returns the same object. */
  readiness(): ReadinessCheck;
  /** Creates the table of ticks if it is missing. @throws SchemaError if an existing table differs */
  ensureSchema(): Promise<"present" | "created">;
  /** Returns the schema statements for a migration tool. */
  migrations(): readonly Migration[];
}

const MAX_SLEEP_MS = 30_000;
const WARN_EVERY_MS = 10_000;

// A scheduler started in a request or job must not inherit its async context.
const withoutContext = AsyncLocalStorage.snapshot();

/**
 * Creates a scheduler. Sends no statement before `start()` or `runDue()`.
 *
 * @throws ConfigurationError for invalid options, naming the schedule and the field
 */
export function createScheduler<Queued extends AnyTasks = AnyTasks>(
  given: SchedulerOptions<Queued>,
): Scheduler {
  const options = resolveSchedulerOptions(given);
  const { access, schedules, ticksTable, quotedTicks, retentionMs, now, claimant } = options;
  const { commandTimeoutMs, maintenanceTimeoutMs } = options;
  const logger = safeLogger(options.logger);
  const { emit } = createEmitter(options.onEvent, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "a scheduler event listener threw an error"),
  );
  const store = createTickStore(quotedTicks, access, claimant);
  const passes = createPasses(store, schedules, { retentionMs, now, emit, logger });
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.error({ reason: safeErrorText(error), suppressed }, "the scheduler cannot query its ticks"),
  );

  let last: Promise<unknown> = Promise.resolve();
  const runningPasses = new Set<Promise<unknown>>();
  let watching: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let wake: (() => void) | undefined;
  let fault: string | undefined;
  // Offset of the clock in use (database or `now`) from the monotonic clock.
  let clockOffsetMs: number | undefined;

  function currentMs(): number {
    if (now !== undefined) return now();
    return clockOffsetMs === undefined ? Date.now() : performance.now() + clockOffsetMs;
  }

  /** Runs passes one after another: concurrent passes would only compete for the same ticks. */
  async function begin(retry: boolean): Promise<RunningPass> {
    const next = last.then(() =>
      passes.begin({
        retry,
        onTime(nowMs) {
          clockOffsetMs = nowMs - performance.now();
        },
      }),
    );
    last = next.catch(() => undefined);
    const pass = await next;
    runningPasses.add(pass.ended);
    void pass.ended.finally(() => runningPasses.delete(pass.ended));
    return pass;
  }

  async function watch(): Promise<void> {
    while (stopping === undefined) {
      let pauseMs: number;
      try {
        const { ended } = await begin(false);
        if (fault !== undefined) logger?.info({}, "the scheduler can query its ticks again");
        fault = undefined;
        // Do not wait for `ended`: a hanging schedule must not delay the others.
        void ended.then(report);
        pauseMs = Math.min(MAX_SLEEP_MS, untilNext());
      } catch (error) {
        pauseMs = RETRY_MS;
        fault = safeErrorText(error);
        warn(error);
        emit({ type: "fault", error });
      }
      if (stopping === undefined) await pauseFor(Math.min(pauseMs, untilRetry()));
    }
  }

  function report({ failed }: Pass): void {
    if (failed.length === 0) return;
    for (const { name, error } of failed) {
      logger?.error({ schedule: name, reason: safeErrorText(error) }, "a schedule cannot queue its job");
    }
    // End the current pause, since a retry may be due before it ends.
    wake?.();
  }

  function untilRetry(): number {
    const retryAt = Math.min(...passes.failing.values());
    return Math.max(1, Math.ceil(retryAt - performance.now()));
  }

  function untilNext(): number {
    const nowMs = currentMs();
    const next = Math.min(...schedules.map(({ times }) => times.after(nowMs)));
    // A timer may fire slightly early.
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
    await watching;
    await last;
    await Promise.all(runningPasses);
  }

  function check(): CheckResult {
    const meta = { schedules: schedules.length };
    if (stopping !== undefined) return { healthy: false, detail: "stopped", meta };
    if (watching === undefined) return { healthy: false, detail: "not started", meta };
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
      if (stopping !== undefined) throw new Error("a stopped scheduler cannot start again: create a new one");
      watching ??= withoutContext(watch);
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
