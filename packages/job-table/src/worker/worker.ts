import type { CheckResult, ReadinessCheck } from "@svc/context";
import { AsyncLocalStorage } from "node:async_hooks";
import { backoff, safeLogger } from "@svc/resilience";
import { channelOf } from "../notifier.ts";
import { createBell } from "./bell.ts";
import { createClaimer } from "./claimer.ts";
import { createDepth } from "./depth.ts";
import { createDirect } from "./direct.ts";
import { createEnds } from "./ends.ts";
import { createTell } from "./events.ts";
import { resolveWorkerOptions, type WorkerOptions } from "./options.ts";
import { greetingOf } from "./greeting.ts";
import { createIntake } from "./intake.ts";
import { createReport } from "./report.ts";
import { orAfter } from "./or-after.ts";
import { isLarge, listeningPool } from "./pools.ts";
import { createOwnSession, SERVERS_SHARE } from "./session.ts";
import { createSharedSession } from "./shared-session.ts";
import { createSlots } from "./slots.ts";
import { createWarnings } from "./warnings.ts";

/** Runs the jobs of a table. */
export interface Worker extends AsyncDisposable {
  /** Starts to claim jobs; a second call does nothing. @throws Error after `stop()` */
  start(): void;
  /**
   * Stops claiming, releases jobs that have not started, waits up to `drainSeconds` for running ones, then aborts their
   * signals and releases them with their attempt (JOB-11). A second call stops waiting. Never rejects.
   */
  stop(): Promise<void>;
  /** The number of running handlers. */
  readonly running: number;
  /** The check `worker`, never critical: whether its statements succeed. Always the same object. */
  readiness(): ReadinessCheck;
}

// Interval of sweeps for leases whose end no sweep has seen coming (JOB-34), because another program changed them.
const MAX_SWEEP_MS = 500;
// How long aborted handlers may take to return, and how long their outcomes may take to be written.
const SETTLE_MS = 1000;
const FLUSH_MS = 5000;

// A worker started inside a request or job must not inherit that context, and neither must its listeners.
const outside = AsyncLocalStorage.snapshot();

/**
 * Creates a worker. Sends nothing before `start()`.
 *
 * @throws ConfigurationError
 */
export function createWorker(given: WorkerOptions): Worker {
  const options = resolveWorkerOptions(given);
  const { table, on, concurrency, prefetch, pollMs, commandTimeoutMs, visibilityMs, drainMs } = options;
  const logger = safeLogger(options.logger);
  const greeting = greetingOf(options.handlers.keys());
  const warn = createWarnings(logger, table.name, greeting);
  const tell = createTell(options.onEvent, logger);
  const bell = createBell();
  const report = createReport(logger, tell);
  const ends = createEnds(on.quotedTable, visibilityMs, (end, recorded) => report.recorded(end, recorded));
  const slots = createSlots(options, ends, () => bell.ring(), warn.ofSignals);
  const pool = options.listen ? listeningPool(on.db) : undefined;
  const inTimeMs = pool === undefined ? commandTimeoutMs * SERVERS_SHARE : undefined;
  const sweepMs = Math.min(pollMs, MAX_SWEEP_MS);
  const claimer = createClaimer(on.quotedTable, on.visibilityTimeoutSeconds, sweepMs, inTimeMs);
  const session =
    pool === undefined
      ? createSharedSession(on.db, commandTimeoutMs)
      : createOwnSession(pool, channelOf(table.name), commandTimeoutMs, {
          onNotify() {
            intake.look();
            bell.ring(true);
          },
          greeting,
          onGreeting: warn.ofOthers,
          onPooler: warn.ofPooler,
        });
  const delay = backoff({ baseMs: 100, maxMs: 5000, minMs: 50 });

  let looping: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let failures = 0;
  let pauseUntil = -Infinity;
  let giveUpAt = Infinity;
  let hurry: (() => void) | undefined;
  const depth = createDepth(() => table.stats(), tell, options.depthEverySeconds);
  let over = false;
  // The second connection records outcomes while the first one claims, as long as that succeeds.
  const recorder =
    prefetch >= concurrency && pool !== undefined && isLarge(pool)
      ? createOwnSession(pool, undefined, commandTimeoutMs, {
          onNotify: () => undefined,
          onPooler: warn.ofPooler,
        })
      : undefined;
  const intake = createIntake({
    keepMs: commandTimeoutMs,
    all: concurrency + prefetch,
    concurrency,
    claimer,
    slots,
    ends,
    session,
    recorder,
    isStopping: () => stopping !== undefined,
    onClaimed(jobs, exhausted) {
      if (jobs.length > 0) tell({ type: "claimed", jobs });
      for (const job of exhausted) report.exhausted(job);
    },
    onRecorded(error) {
      if (error !== undefined) fault(error);
      bell.ring();
    },
  });

  const direct = createDirect({
    sql: on.quotedTable,
    leaseSeconds: on.visibilityTimeoutSeconds,
    handlers: options.handlers,
    intake,
    session,
    spare: createSharedSession(on.db, commandTimeoutMs),
    isWell: () => failures === 0,
    isOver: () => over,
    release: (lease) => table.release(lease),
    // The handler must not inherit the context of the code that queued the job.
    onClaimed: (job, claimedAt) =>
      outside(() => {
        tell({ type: "claimed", jobs: [job] });
        slots.accept([job], claimedAt);
        bell.ring();
      }),
    onFree: () => bell.ring(),
    onGivenBack() {
      intake.look();
      bell.ring();
    },
    onFault: fault,
    delay,
  });

  function fault(error: unknown): void {
    warn.ofFault(error);
    tell({ type: "fault", error });
  }

  /** Sends one statement, or waits for something to do. */
  async function step(): Promise<void> {
    if (!(await intake.step())) {
      await bell.wait(stopping === undefined && slots.room(intake.kept) > 0 ? claimer.untilSweep() : pollMs);
      return;
    }
    if (failures > 0) warn.noMore(failures);
    failures = 0;
  }

  async function loop(): Promise<void> {
    for (;;) {
      // While the database fails, stop trying to write outcomes at `giveUpAt`.
      const gaveUp = failures > 0 && performance.now() > giveUpAt;
      if (
        stopping !== undefined &&
        slots.running === 0 &&
        !intake.isUnderWay &&
        (ends.size === 0 || gaveUp)
      ) {
        over = true;
        return;
      }
      const pause = pauseUntil - performance.now();
      if (pause > 0) {
        await bell.wait(pause);
        continue;
      }
      try {
        await step();
        // Give timers and sockets a turn, which handlers without real waits would starve.
        await new Promise<void>((resolve) => void setImmediate(resolve));
      } catch (error) {
        failures += 1;
        intake.reset();
        const longest = stopping === undefined ? Infinity : 200;
        pauseUntil = performance.now() + Math.min(longest, delay(failures));
        fault(error);
      }
    }
  }

  async function shutdown(): Promise<void> {
    depth.stop();
    on.takers.delete(direct);
    const hurried = new Promise<void>((resolve) => (hurry = resolve));
    slots.close();
    bell.ring();
    await orAfter(Promise.race([idle(), hurried]), drainMs);
    if (slots.running > 0) {
      slots.abort();
      await orAfter(Promise.race([idle(), hurried]), SETTLE_MS);
      // Handlers that react to their signals may end in this turn.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      slots.abandon();
    }
    giveUpAt = performance.now() + FLUSH_MS;
    pauseUntil = -Infinity;
    bell.ring();
    await looping;
    await orAfter(direct.settled(), giveUpAt - performance.now());
    if (ends.size > 0) warn.ofUnrecorded(ends.size);
    session.close();
    recorder?.close();
  }

  async function idle(): Promise<void> {
    while (slots.running > 0 || intake.kept > 0)
      await new Promise<void>((resolve) => setTimeout(resolve, 10));
  }

  function check(): CheckResult {
    const meta = { running: slots.running };
    if (stopping !== undefined) return { healthy: false, detail: "stopped", meta };
    if (looping === undefined) return { healthy: false, detail: "not started", meta };
    if (failures > 1) return { healthy: false, detail: "the job table does not answer", meta };
    return { healthy: true, detail: "working", meta };
  }
  const readiness: ReadinessCheck = { name: "worker", critical: false, check };

  const worker: Worker = {
    start() {
      if (stopping !== undefined)
        throw new Error("a worker that was stopped does not start again: make another one");
      if (looping !== undefined) return;
      looping = outside(loop);
      if (options.claimOnEnqueue) on.takers.add(direct);
      outside(() => depth.start());
    },
    stop() {
      hurry?.();
      stopping ??= shutdown();
      return stopping;
    },
    get running() {
      return slots.running;
    },
    readiness: () => readiness,
    [Symbol.asyncDispose]: () => worker.stop(),
  };
  return worker;
}
