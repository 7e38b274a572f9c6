import type { CheckResult, ReadinessCheck } from "@svc/context";
import { AsyncLocalStorage } from "node:async_hooks";
import { atMostEvery, backoff } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";
import { channelOf } from "../notifier.ts";
import { createBell } from "./bell.ts";
import { type Claimed, createClaimer } from "./claimer.ts";
import { calm } from "./calm-logger.ts";
import { createEnds } from "./ends.ts";
import { createTell } from "./events.ts";
import { resolveWorkerOptions, type WorkerOptions } from "./options.ts";
import { greetingOf, tasksIn } from "./greeting.ts";
import { createReport } from "./report.ts";
import {
  createOwnSession,
  createSharedSession,
  isLarge,
  listeningPool,
  SERVERS_SHARE,
  type Session,
} from "./session.ts";
import { createSlots } from "./slots.ts";

/** Drains a job table. */
export interface Worker extends AsyncDisposable {
  /** Begins to claim jobs; a second call does nothing. @throws Error when it was stopped */
  start(): void;
  /**
   * Claims nothing more, gives back what was not begun, waits for what runs up to `drainSeconds`, aborts its signals and gives it
   * back with its attempt (JOB-11). A second call does not wait any longer. Never rejects.
   */
  stop(): Promise<void>;
  /** Handlers that run. */
  readonly running: number;
  /** The check `worker`, never critical: whether it gets on. Always the same object. */
  readiness(): ReadinessCheck;
}

/** A claim under way. */
interface Claim {
  readonly limit: number;
  readonly claimedAt: number;
  readonly answer: Promise<Claimed>;
}

const WARN_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
// How long aborted handlers may take to end by themselves, and how long ends are written at the end.
const SETTLE_MS = 1000;
const FLUSH_MS = 5000;
const RECORDER_PAUSE_MS = 10_000;

// A worker that is started by a request or a job is no part of it: nor is what its listeners queue.
const outside = AsyncLocalStorage.snapshot();

/**
 * Makes a worker. Nothing is sent before `start()`.
 *
 * @throws ConfigurationError
 */
export function createWorker(given: WorkerOptions): Worker {
  const options = resolveWorkerOptions(given);
  const {
    table,
    on,
    concurrency,
    prefetch,
    pollMs,
    commandTimeoutMs,
    visibilityMs,
    drainMs,
    depthEverySeconds,
  } = options;
  const logger = calm(options.logger);
  const tell = createTell(options.onEvent, logger);
  const bell = createBell();
  const report = createReport(logger, tell);
  const ends = createEnds(on.quotedTable, visibilityMs, (end, recorded) => report.recorded(end, recorded));
  const slots = createSlots(
    options,
    ends,
    () => bell.ring(),
    () =>
      logger?.error(
        { table: table.name },
        "handlers ignore their signals: no job is claimed until one of them ends",
      ),
  );
  const warnOfPooler = atMostEvery(HOUR_MS, () =>
    logger?.warn(
      { table: table.name },
      "the connection of the worker goes through a pooler: unless that one pools sessions, listen must be false",
    ),
  );
  const greeting = greetingOf(options.handlers.keys());
  const warnOfOthers = atMostEvery(HOUR_MS, (_suppressed, theirs: string) =>
    logger?.warn(
      { table: table.name, handlers: tasksIn(greeting), others: tasksIn(theirs) },
      "another worker of this table has other handlers: each claims every job, and makes those dead that it has none for",
    ),
  );
  const pool = options.listen ? listeningPool(on.db) : undefined;
  const inTimeMs = pool === undefined ? commandTimeoutMs * SERVERS_SHARE : undefined;
  const claimer = createClaimer(on.quotedTable, on.visibilityTimeoutSeconds, pollMs, inTimeMs);
  const session =
    pool === undefined
      ? createSharedSession(on.db, commandTimeoutMs)
      : createOwnSession(pool, channelOf(table.name), commandTimeoutMs, {
          onNotify() {
            hungry = true;
            bell.ring(true);
          },
          greeting,
          onGreeting: warnOfOthers,
          onPooler: warnOfPooler,
        });
  const delay = backoff({ baseMs: 100, maxMs: 5000, minMs: 50 });
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.error(
      { table: table.name, reason: safeErrorText(error), suppressed },
      "the job table does not answer",
    ),
  );

  let looping: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let hungry = true;
  let failures = 0;
  let pauseUntil = -Infinity;
  let giveUpAt = Infinity;
  let hurry: (() => void) | undefined;
  let depth: NodeJS.Timeout | undefined;
  let counting = false;
  // A worker that fetches ahead, and finds all that it asks for, claims by halves: one is on its way while the other one is
  // worked on.
  const halves = prefetch >= concurrency && session.queues;
  const half = Math.ceil((concurrency + prefetch) / 2);
  // There ends are recorded meanwhile, as long as that succeeds.
  const recorder =
    halves && pool !== undefined && isLarge(pool)
      ? createOwnSession(pool, undefined, commandTimeoutMs, {
          onNotify: () => undefined,
          onPooler: warnOfPooler,
        })
      : undefined;
  let recording: Promise<void> | undefined;
  let recordFrom = -Infinity;
  let ahead: Claim | undefined;
  let asked = 0;
  let flowing = false;

  function ask(room: number): Claim {
    const limit = halves && flowing ? Math.min(room, half) : room;
    hungry = false;
    asked += limit;
    const claim = { limit, claimedAt: performance.now(), answer: claimer.claim(session, limit, ends) };
    // It may fail before anybody waits for it.
    claim.answer.catch(() => undefined);
    return claim;
  }

  async function answered({ limit, claimedAt, answer }: Claim): Promise<void> {
    let claimed: Claimed;
    try {
      claimed = await answer;
    } finally {
      asked -= limit;
    }
    const { jobs, spent, more } = claimed;
    hungry ||= more;
    flowing = jobs.length === limit;
    if (jobs.length > 0) tell({ type: "claimed", jobs });
    for (const job of spent) report.spent(job);
    slots.accept(jobs, claimedAt);
  }

  const isUnderWay = (): boolean => ahead !== undefined || recording !== undefined;

  async function record(to: Session): Promise<void> {
    try {
      await ends.flush(to);
    } catch (error) {
      recordFrom = performance.now() + RECORDER_PAUSE_MS;
      warn(error);
      tell({ type: "fault", error });
    }
    recording = undefined;
    bell.ring();
  }

  /** One statement, or a wait for something to do. */
  async function step(): Promise<void> {
    const room = (): number => (stopping === undefined ? slots.room(asked) : 0);
    if (stopping !== undefined) await recording;
    else if (recorder !== undefined && flowing && ends.size > 0 && performance.now() >= recordFrom)
      recording ??= record(recorder);
    let current = ahead;
    ahead = undefined;
    if (current === undefined && room() > 0 && (hungry || claimer.untilSweep() <= 0)) {
      // A claim records those that are done, and no others.
      if (ends.urgent) await ends.flush(session);
      if (room() > 0) current = ask(room());
    }
    if (current !== undefined) {
      if (halves && flowing && !ends.urgent && room() > 0) ahead = ask(room());
      await answered(current);
    } else if (ends.size > 0) await ends.flush(session);
    else {
      await bell.wait(room() > 0 ? claimer.untilSweep() : pollMs);
      return;
    }
    if (failures > 0) logger?.info({ table: table.name, failures }, "the job table answers again");
    failures = 0;
  }

  async function loop(): Promise<void> {
    for (;;) {
      // What a claim brings that took longer is given back all the same.
      const gaveUp = failures > 0 && performance.now() > giveUpAt;
      if (stopping !== undefined && slots.running === 0 && !isUnderWay() && (ends.size === 0 || gaveUp))
        return;
      const pause = pauseUntil - performance.now();
      if (pause > 0) {
        await bell.wait(pause);
        continue;
      }
      try {
        await step();
        // What handlers that never wait have left undone: timers and sockets of others.
        await new Promise<void>((resolve) => void setImmediate(resolve));
      } catch (error) {
        failures += 1;
        hungry = true;
        claimer.reset();
        const longest = stopping === undefined ? Infinity : 200;
        pauseUntil = performance.now() + Math.min(longest, delay(failures));
        warn(error);
        tell({ type: "fault", error });
      }
    }
  }

  async function shutdown(): Promise<void> {
    clearInterval(depth);
    const hurried = new Promise<void>((resolve) => (hurry = resolve));
    slots.close();
    bell.ring();
    await orAfter(Promise.race([idle(), hurried]), drainMs);
    if (slots.running > 0) {
      slots.abort();
      await orAfter(Promise.race([idle(), hurried]), SETTLE_MS);
      // Handlers that heed their signals may end in this turn.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      slots.abandon();
    }
    giveUpAt = performance.now() + FLUSH_MS;
    pauseUntil = -Infinity;
    bell.ring();
    await looping;
    if (ends.size > 0) {
      logger?.error(
        { table: table.name, jobs: ends.size },
        "the end of jobs could not be recorded; their leases will end",
      );
    }
    session.close();
    recorder?.close();
  }

  async function idle(): Promise<void> {
    while (slots.running > 0) await new Promise<void>((resolve) => setTimeout(resolve, 10));
  }

  async function count(): Promise<void> {
    // One that takes longer than its interval must not take the pool.
    if (counting) return;
    counting = true;
    try {
      tell({ type: "depth", stats: await table.stats() });
    } catch (error) {
      tell({ type: "fault", error });
    }
    counting = false;
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
      if (depthEverySeconds > 0)
        depth = outside(() => setInterval(() => void count(), depthEverySeconds * 1000).unref());
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

/** Waits for something, or as long as that. */
async function orAfter(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([something, time]);
  clearTimeout(timer);
}
