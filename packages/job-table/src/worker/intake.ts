import type { Job } from "../job.ts";
import type { Claimed, Claimer } from "./claimer.ts";
import type { Ends } from "./ends.ts";
import type { Session } from "./session.ts";
import type { Slots } from "./slots.ts";

/** Claims jobs for free slots, and records their outcomes. */
export interface Intake {
  /** Sends the next statement and waits for its answer. Resolves to false when there was nothing to send. */
  step(): Promise<boolean>;
  /** Makes the next step look for jobs. */
  look(): void;
  /** Makes the next step look at everything, after an error. */
  reset(): void;
  /** Reserves a slot for a job claimed at its insert, unless an earlier job may be waiting. */
  keep(): Kept | undefined;
  /** Frees a reserved slot. Returns false when the reservation had expired. */
  unkeep(kept: Kept): boolean;
  /** The number of reserved slots. */
  readonly kept: number;
  /** Whether a statement is still unanswered. */
  readonly isUnderWay: boolean;
}

/** A reserved slot. */
export interface Kept {
  readonly until: number;
}

export interface IntakeOptions {
  /** Milliseconds that a slot stays reserved. */
  readonly keepMs: number;
  /** The maximum number of claimed jobs, and how many of them run. */
  readonly all: number;
  readonly concurrency: number;
  readonly claimer: Claimer;
  readonly slots: Slots;
  readonly ends: Ends;
  readonly session: Session;
  /** The second connection, which records outcomes while the first one claims. */
  readonly recorder: Session | undefined;
  readonly isStopping: () => boolean;
  /** Reports claimed jobs before they start, and exhausted ones. */
  readonly onClaimed: (jobs: readonly Job[], exhausted: readonly Job[]) => void;
  /** Outcomes were recorded, or with an error they were not and stay queued. */
  readonly onRecorded: (error?: unknown) => void;
}

/** A claim that was sent. */
interface Claim {
  readonly limit: number;
  readonly claimedAt: number;
  readonly answer: Promise<Claimed>;
}

const RECORDER_PAUSE_MS = 10_000;
// Limits consecutive sweeps, so that a large number of expired leases does not delay new jobs.
const MAX_SWEEPS = 10;

/**
 * Creates the loop body of a worker. If the worker prefetches at least `concurrency` jobs and claims are full, it
 * claims half the room at a time: one claim is sent while the jobs of the other run, and a second connection records
 * outcomes. Otherwise one statement at a time claims and records.
 */
export function createIntake(options: IntakeOptions): Intake {
  const { all, concurrency, claimer, slots, ends, session, recorder, isStopping } = options;
  const halves = all >= 2 * concurrency && session.queues;
  const half = Math.ceil(all / 2);
  let hungry = true;
  let ahead: Claim | undefined;
  let asked = 0;
  /** In order of reservation. */
  const kept = new Set<Kept>();
  /** Whether the last claim was full. */
  let flowing = false;
  let recording: Promise<void> | undefined;
  let recordFrom = -Infinity;

  const room = (): number => (isStopping() ? 0 : slots.room(asked + keptNow()));

  function keptNow(): number {
    // A statement that hangs must not keep its slot forever.
    for (const each of kept) {
      if (performance.now() < each.until) break;
      kept.delete(each);
    }
    return kept.size;
  }

  function ask(free: number): Claim {
    const limit = halves && flowing ? Math.min(free, half) : free;
    hungry = false;
    asked += limit;
    const claim = { limit, claimedAt: performance.now(), answer: claimer.claim(session, limit, ends) };
    // It may reject before `answered` awaits it.
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
    hungry ||= claimed.more;
    flowing = claimed.jobs.length === limit;
    options.onClaimed(claimed.jobs, []);
    slots.accept(claimed.jobs, claimedAt);
  }

  /** Recovers expired leases before a claim, because their jobs may be older than the pending ones (JOB-34). */
  async function sweep(): Promise<void> {
    for (let sweeps = 0; sweeps < MAX_SWEEPS && room() > 0 && claimer.untilSweep() <= 0; sweeps++) {
      const { exhausted, due } = await claimer.sweep(session);
      hungry ||= due;
      if (exhausted.length > 0) options.onClaimed([], exhausted);
    }
  }

  async function record(to: Session): Promise<void> {
    let failed: unknown;
    try {
      await ends.flush(to);
    } catch (error) {
      // The outcomes stay queued for the claiming session, which detects an outage of the database.
      failed = error;
      recordFrom = performance.now() + RECORDER_PAUSE_MS;
    }
    recording = undefined;
    options.onRecorded(failed);
  }

  return {
    async step() {
      if (isStopping()) await recording;
      else if (recorder !== undefined && flowing && ends.size > 0 && performance.now() >= recordFrom)
        recording ??= record(recorder);
      await sweep();
      let current = ahead;
      ahead = undefined;
      if (current === undefined && room() > 0 && hungry) {
        // A claim records finished jobs only.
        if (ends.urgent) await ends.flush(session);
        if (room() > 0) current = ask(room());
      }
      if (current !== undefined) {
        if (halves && flowing && !ends.urgent && room() > 0) ahead = ask(room());
        await answered(current);
        return true;
      }
      if (ends.size === 0) return false;
      await ends.flush(session);
      return true;
    },
    look() {
      hungry = true;
    },
    reset() {
      hungry = true;
      claimer.reset();
    },
    keep() {
      if (isStopping() || hungry || asked > 0 || claimer.untilSweep() <= 0) return undefined;
      if (!slots.isFree(keptNow())) return undefined;
      const keeping = { until: performance.now() + options.keepMs };
      kept.add(keeping);
      return keeping;
    },
    unkeep: (keeping) => kept.delete(keeping),
    get kept() {
      return keptNow();
    },
    get isUnderWay() {
      return ahead !== undefined || recording !== undefined;
    },
  };
}
