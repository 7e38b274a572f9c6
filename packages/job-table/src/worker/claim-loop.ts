import type { Member, TableGroup } from "../listener.ts";
import type { Claimed, Claimer } from "./claimer.ts";
import type { Completions } from "./completions.ts";
import type { ResolvedWorker } from "./options.ts";
import type { Report } from "./report.ts";
import type { RunningJobs } from "./running-jobs.ts";
import { retryDelay, type Session } from "./session.ts";

/** The state of one worker that its claim loop, `stop()` and `enqueue()` share. */
export interface WorkerState {
  readonly options: ResolvedWorker;
  readonly report: Report;
  readonly wakeup: Wakeup;
  readonly jobs: RunningJobs;
  readonly completions: Completions;
  readonly claimer: Claimer;
  /** Milliseconds between sweeps of a table that is not quiet. */
  readonly sweepMs: number;
  readonly session: Session;
  /** The second connection, which records completions while the first claims jobs. */
  readonly recorder: Session | undefined;
  readonly reserved: ReservedSlots;
  /** The table's workers in this process, and whether they expect due jobs. */
  readonly group: TableGroup;
  readonly member: Member;
  /** Sends sweeps while the worker's own connection is closed. */
  readonly spare: Session;
  /** Closes the worker's connections; the next statement opens them again. */
  readonly disconnect: () => void;
  /** When the worker last claimed jobs, by `performance.now()`. */
  activeAt: number;
  /** Number of jobs requested in claims that have not returned yet. */
  asked: number;
  /** Whether the last claim was full. */
  isFlowing: boolean;
  /** The next claim, if it was sent before the response to the previous one arrived. */
  ahead: SentClaim | undefined;
  recording: Promise<void> | undefined;
  recordFrom: number;
  /** Number of consecutive failed statements. */
  failures: number;
  pausedUntil: number;
  /** When `stop()` gives up writing completions to a failing database, by `performance.now()`. */
  giveUpAt: number;
  isStopping: boolean;
  isOver: boolean;
}

interface SentClaim {
  readonly limit: number;
  readonly claimedAt: number;
  /** Reports to the group whether the claim was full. */
  readonly answered: (isFull: boolean) => void;
  readonly answer: Promise<Claimed>;
}

const RECORDER_PAUSE_MS = 10_000;
// Limits consecutive sweeps, so that many expired leases do not delay new jobs.
const MAX_SWEEPS = 10;
const MAX_STOPPING_PAUSE_MS = 200;
// After this much time without jobs, a worker closes its connections.
const DISCONNECT_AFTER_MS = 10_000;

/** Claims jobs for free slots and writes completions, until the worker is stopped and everything is written. */
export async function runClaimLoop(state: WorkerState): Promise<void> {
  const { wakeup, report } = state;
  while (!isFinished(state)) {
    const pauseMs = state.pausedUntil - performance.now();
    if (pauseMs > 0) {
      await wakeup.wait(pauseMs);
      continue;
    }
    try {
      await startRecording(state);
      const swept = await sweep(state);
      const sent = (await claim(state)) || (await flush(state));
      if (!sent && mayClaim(state)) continue;
      if ((sent || swept) && state.failures > 0) {
        report.answersAgain(state.failures);
        state.failures = 0;
      }
      if (!sent) {
        if (isLongIdle(state)) state.disconnect();
        await wakeup.wait(idleMs(state));
      }
      // Let timers and sockets run; handlers that never wait for I/O would starve them.
      await new Promise<void>((resolve) => void setImmediate(resolve));
    } catch (error) {
      state.failures += 1;
      state.group.active();
      state.claimer.reset();
      const longestMs = state.isStopping ? MAX_STOPPING_PAUSE_MS : Infinity;
      state.pausedUntil = performance.now() + Math.min(longestMs, retryDelay(state.failures));
      report.fault(error);
    }
  }
  state.isOver = true;
}

function isFinished({
  isStopping,
  jobs,
  ahead,
  recording,
  completions,
  failures,
  giveUpAt,
}: WorkerState): boolean {
  if (!isStopping || jobs.running > 0 || ahead !== undefined || recording !== undefined) return false;
  return completions.size === 0 || (failures > 0 && performance.now() > giveUpAt);
}

/** Returns whether a claim may find a job and the worker has room for it. */
function mayClaim(state: WorkerState): boolean {
  return state.group.claims > 0 && room(state) > 0;
}

function isLongIdle(state: WorkerState): boolean {
  const { jobs, completions, recording, reserved, activeAt, isStopping } = state;
  if (isStopping || jobs.running > 0 || completions.size > 0 || reserved.count > 0) return false;
  if (recording !== undefined) return false;
  return performance.now() - activeAt > DISCONNECT_AFTER_MS;
}

function idleMs({ isStopping, jobs, reserved, claimer, options }: WorkerState): number {
  return !isStopping && jobs.room(reserved.count) > 0 ? claimer.untilSweep() : options.pollMs;
}

function room({ isStopping, jobs, asked, reserved }: WorkerState): number {
  return isStopping ? 0 : jobs.room(asked + reserved.count);
}

/** Writes completions on the second connection while claims are full. */
async function startRecording(state: WorkerState): Promise<void> {
  const { recorder, completions, report, wakeup } = state;
  if (state.isStopping) await state.recording;
  else if (
    recorder !== undefined &&
    state.isFlowing &&
    completions.size > 0 &&
    performance.now() >= state.recordFrom
  ) {
    state.recording ??= completions
      .flush(recorder)
      .catch((error: unknown) => {
        // The completions stay queued for the claiming session, which detects an outage of the database.
        state.recordFrom = performance.now() + RECORDER_PAUSE_MS;
        report.fault(error);
      })
      .then(() => {
        state.recording = undefined;
        wakeup.ring();
      });
  }
}

/**
 * Recovers expired leases before a claim, because their jobs may be older than the pending ones (JOB-34). Returns
 * whether a sweep was due.
 */
async function sweep(state: WorkerState): Promise<boolean> {
  const { claimer, sweepMs, group, member, report, options } = state;
  const session = state.session.isOpen ? state.session : state.spare;
  // Sweep at least twice per visibility timeout, so that no lease starts and expires between two sweeps.
  const longestMs = Math.max(sweepMs, options.visibilityMs / 2);
  // After a failure, this worker must test whether its own statements succeed again, even if another worker sweeps.
  const isDue = (): boolean => claimer.untilSweep() <= 0 || (state.failures > 0 && sweeps === 0);
  let sweeps = 0;
  for (; sweeps < MAX_SWEEPS && room(state) > 0 && isDue(); sweeps++) {
    group.swept(member, sweepMs);
    // Without notifications, only a sweep finds new jobs.
    const pauseMs = options.on.notify ? group.sweepPause(sweepMs) : sweepMs;
    const { exhausted, due, quiet } = await claimer.sweep(session, Math.min(longestMs, pauseMs));
    group.swept(member, claimer.untilSweep());
    if (due) group.mayBeDue();
    if (quiet) group.quiet();
    for (const job of exhausted) report.exhausted(job);
  }
  return sweeps > 0;
}

/** Claims jobs and starts them. Returns false if there was no reason to send a claim. */
async function claim(state: WorkerState): Promise<boolean> {
  const { completions, session, report, jobs, group } = state;
  let sent = state.ahead;
  state.ahead = undefined;
  if (sent === undefined && mayClaim(state)) {
    // Write failed and released jobs first, because a claim can delete only jobs that are done.
    if (completions.needFlush) await completions.flush(session);
    if (mayClaim(state)) sent = sendClaim(state);
  }
  if (sent === undefined) return false;
  if (claimsHalves(state) && !completions.needFlush && room(state) > 0) state.ahead = sendClaim(state);
  let claimed: Claimed;
  try {
    claimed = await sent.answer;
  } finally {
    state.asked -= sent.limit;
  }
  state.isFlowing = claimed.jobs.length === sent.limit;
  sent.answered(state.isFlowing);
  if (claimed.more && !state.isFlowing) group.mayBeDue();
  if (claimed.jobs.length > 0) {
    state.activeAt = performance.now();
    group.active();
    report.emit({ type: "claimed", jobs: claimed.jobs });
  }
  jobs.accept(claimed.jobs, sent.claimedAt);
  return true;
}

/**
 * Returns whether to claim half of the possible jobs at a time, so that jobs of one claim run while the next claim is
 * sent. A worker that prefetches at least `concurrency` jobs does so while its claims are full.
 */
function claimsHalves({ options: { concurrency, prefetch }, session, isFlowing }: WorkerState): boolean {
  return isFlowing && prefetch >= concurrency && session.queues;
}

function sendClaim(state: WorkerState): SentClaim {
  const { claimer, session, completions, options } = state;
  const free = room(state);
  const half = Math.ceil((options.concurrency + options.prefetch) / 2);
  const limit = claimsHalves(state) ? Math.min(free, half) : free;
  const answered = state.group.claimSent(state.member);
  state.asked += limit;
  const claimedAt = performance.now();
  const answer = claimer.claim(session, limit, completions);
  // The promise may reject before it is awaited.
  answer.catch(() => undefined);
  return { limit, claimedAt, answered, answer };
}

async function flush({ completions, session }: WorkerState): Promise<boolean> {
  if (completions.size === 0) return false;
  await completions.flush(session);
  return true;
}

/** Wakes the claim loop. If `ring()` is called while the loop is not waiting, its next wait ends immediately. */
export interface Wakeup {
  /** `atOnce`: do not wait until the current event-loop turn ends. */
  ring(atOnce?: boolean): void;
  /**
   * Resolves at the next `ring()` or after `ms`. Lets the current event-loop turn end first, so that its events are
   * handled together.
   */
  wait(ms: number): Promise<void>;
}

export function createWakeup(): Wakeup {
  let rung = false;
  let hasty = false;
  let wake: (() => void) | undefined;
  return {
    ring(atOnce = false) {
      rung = true;
      hasty ||= atOnce;
      wake?.();
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.max(0, ms));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = undefined;
      }
      if (!hasty) await new Promise<void>((resolve) => void setImmediate(resolve));
      rung = false;
      hasty = false;
    },
  };
}

/** Slots reserved for jobs that `enqueue()` in this process claims. */
export interface ReservedSlots {
  readonly count: number;
  add(): ReservedSlot;
  /** Returns false when the reservation had expired. */
  free(slot: ReservedSlot): boolean;
}

export interface ReservedSlot {
  readonly until: number;
}

/** @param keepMs how long a slot stays reserved, so that a statement that hangs does not keep it forever */
export function createReservedSlots(keepMs: number): ReservedSlots {
  const slots = new Set<ReservedSlot>();
  return {
    get count() {
      for (const slot of slots) {
        if (performance.now() < slot.until) break;
        slots.delete(slot);
      }
      return slots.size;
    },
    add() {
      const slot = { until: performance.now() + keepMs };
      slots.add(slot);
      return slot;
    },
    free: (slot) => slots.delete(slot),
  };
}
