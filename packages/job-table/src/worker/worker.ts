import type { CheckResult, ReadinessCheck } from "@svc/context";
import { AsyncLocalStorage } from "node:async_hooks";
import { createGroup, listenerOf, type Member } from "../listener.ts";
import { channelOf } from "../notifier.ts";
import { createReservations } from "../reservations.ts";
import { createReservedSlots, createWakeup, runClaimLoop, type WorkerState } from "./claim-loop.ts";
import { createClaimer } from "./claimer.ts";
import { createCompletions } from "./completions.ts";
import type { AnyTasks } from "../task-types.ts";
import { type ResolvedWorker, resolveWorkerOptions, type WorkerOptions } from "./options.ts";
import { createReport, type Report } from "./report.ts";
import { createRunningJobs } from "./running-jobs.ts";
import {
  announcementOf,
  createOwnSession,
  createPoolSession,
  isLarge,
  listeningPool,
  SERVERS_SHARE,
} from "./session.ts";

/** Runs a table's jobs. */
export interface Worker extends AsyncDisposable {
  /**
   * Starts claiming jobs. Further calls do nothing.
   * @throws Error after `stop()`
   */
  start(): void;
  /**
   * Stops claiming, releases jobs that have not started, and waits up to `drainSeconds` for running jobs. Then it
   * aborts their signals and releases them without counting the attempt (JOB-11). A second call ends the wait. Never
   * rejects.
   */
  stop(): Promise<void>;
  /** Number of running handlers. */
  readonly running: number;
  /** The check `worker`, never critical: whether its statements succeed. Always the same object. */
  readiness(): ReadinessCheck;
}

// Maximum interval between sweeps of a table that is not quiet. A sweep also finds leases whose expiry time another program
// has changed (JOB-34).
const MAX_SWEEP_MS = 500;
// How long aborted handlers may take to return, and how long writing their completions may take.
const SETTLE_MS = 1000;
const FLUSH_MS = 5000;
const IDLE_CHECK_MS = 10;

// A worker started in a request or job must not inherit that context, and neither must its listeners.
const outside = AsyncLocalStorage.snapshot();

/**
 * Creates a worker. Sends nothing before `start()`.
 *
 * @throws ConfigurationError
 */
export function createWorker<Received extends AnyTasks = AnyTasks>(given: WorkerOptions<Received>): Worker {
  const options = resolveWorkerOptions(given);
  const state = createState(options);
  const { jobs, reserved, completions, report, wakeup, group, member } = state;
  const { localWorkers } = options.on;
  const reservations = createReservations(state);
  let stopCounting: (() => void) | undefined;
  let looping: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  const hurry = Promise.withResolvers<void>();

  async function shutdown(): Promise<void> {
    state.isStopping = true;
    stopCounting?.();
    localWorkers.delete(reservations);
    jobs.close();
    wakeup.ring();
    await settledWithin(Promise.race([allJobsEnded(), hurry.promise]), options.drainMs);
    if (jobs.running > 0) {
      jobs.abort();
      await settledWithin(Promise.race([allJobsEnded(), hurry.promise]), SETTLE_MS);
      // Handlers that react to their signals may settle in this event-loop turn.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      jobs.abandon();
    }
    state.giveUpAt = performance.now() + FLUSH_MS;
    state.pausedUntil = -Infinity;
    wakeup.ring();
    await looping;
    await settledWithin(reservations.settled(), state.giveUpAt - performance.now());
    if (completions.size > 0) report.unrecorded(completions.size);
    state.disconnect();
    group.leave(member);
  }

  async function allJobsEnded(): Promise<void> {
    while (jobs.running > 0 || reserved.count > 0)
      await new Promise<void>((resolve) => setTimeout(resolve, IDLE_CHECK_MS));
  }

  function check(): CheckResult {
    const meta = { running: jobs.running };
    if (stopping !== undefined) return { healthy: false, detail: "stopped", meta };
    if (looping === undefined) return { healthy: false, detail: "not started", meta };
    if (state.failures > 1) return { healthy: false, detail: "the job table does not answer", meta };
    return { healthy: true, detail: "working", meta };
  }
  const readiness: ReadinessCheck = { name: "worker", critical: false, check };

  const worker: Worker = {
    start() {
      if (stopping !== undefined) throw new Error("a stopped worker cannot start again: create a new one");
      if (looping !== undefined) return;
      outside(() => group.join(member));
      looping = outside(runClaimLoop, state);
      if (options.claimOnEnqueue) localWorkers.add(reservations);
      stopCounting = outside(countRegularly, options, report);
    },
    stop() {
      if (stopping !== undefined) hurry.resolve();
      stopping ??= shutdown();
      return stopping;
    },
    get running() {
      return jobs.running;
    },
    readiness: () => readiness,
    [Symbol.asyncDispose]: () => worker.stop(),
  };
  return worker;
}

function createState(options: ResolvedWorker): WorkerState {
  const { table, on, concurrency, prefetch, commandTimeoutMs } = options;
  const report = createReport(options);
  const wakeup = createWakeup();
  const pool = options.listen ? listeningPool(on.db) : undefined;
  const listener = pool === undefined ? undefined : listenerOf(pool);
  const channel = channelOf(table.name);
  const group = listener?.groupOf(channel) ?? createGroup();
  const completions = createCompletions(
    on.quotedTable,
    options.visibilityMs,
    on.notify ? channel : undefined,
    (completion, outcome) => report.completed(completion, outcome),
  );
  const spare = createPoolSession(on.db, commandTimeoutMs);
  const session = listener?.sessionFor(commandTimeoutMs) ?? spare;
  const recorder =
    prefetch >= concurrency && pool !== undefined && isLarge(pool)
      ? createOwnSession(pool, commandTimeoutMs)
      : undefined;
  const sweepMs = Math.min(options.pollMs, MAX_SWEEP_MS);
  const claimer = createClaimer(
    on.quotedTable,
    on.visibilityTimeoutSeconds,
    sweepMs,
    pool === undefined ? commandTimeoutMs * SERVERS_SHARE : undefined,
  );
  const member: Member = {
    announcement: announcementOf(options.handlers.keys()),
    wake: () => wakeup.ring(true),
    sweptElsewhere: (ms) => claimer.sweptElsewhere(ms),
    hasten: () => claimer.hasten(),
    reset: () => claimer.reset(),
    announced: (theirs) => report.announcement(theirs),
    pooler: () => report.pooler(),
    fault: (error) => report.fault(error),
  };
  return {
    options,
    report,
    wakeup,
    completions,
    jobs: createRunningJobs(options, completions, wakeup, report),
    reserved: createReservedSlots(commandTimeoutMs),
    claimer,
    sweepMs,
    group,
    member,
    session,
    spare,
    recorder,
    disconnect() {
      listener?.release(session);
      recorder?.close();
    },
    activeAt: performance.now(),
    asked: 0,
    isFlowing: false,
    ahead: undefined,
    recording: undefined,
    recordFrom: -Infinity,
    failures: 0,
    pausedUntil: -Infinity,
    giveUpAt: Infinity,
    isStopping: false,
    isOver: false,
  };
}

/** Emits `depth` with the table's counts every `depthEverySeconds`. Returns a function that stops it. */
function countRegularly({ table, depthEverySeconds }: ResolvedWorker, report: Report): () => void {
  if (depthEverySeconds === 0) return () => undefined;
  let counting = false;
  async function count(): Promise<void> {
    // Skip a count while the previous one runs, so that slow counts occupy one pool connection.
    if (counting) return;
    counting = true;
    try {
      report.emit({ type: "depth", stats: await table.stats() });
    } catch (error) {
      report.emit({ type: "fault", error });
    }
    counting = false;
  }
  const timer = setInterval(() => void count(), depthEverySeconds * 1000).unref();
  return () => clearInterval(timer);
}

/** Waits until a promise settles, but at most `ms`. */
export async function settledWithin(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    // A negative timeout would make Node print a warning.
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([something, time]);
  clearTimeout(timer);
}
