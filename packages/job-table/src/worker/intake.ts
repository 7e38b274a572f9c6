import type { Job } from "../job.ts";
import type { Claimed, Claimer } from "./claimer.ts";
import type { Ends } from "./ends.ts";
import type { Session } from "./session.ts";
import type { Slots } from "./slots.ts";

/** Claims jobs for free slots, and records what became of them. */
export interface Intake {
  /** Sends what there is to be sent, and waits for an answer. False: there was nothing. */
  step(): Promise<boolean>;
  /** Has the next step look for jobs. */
  look(): void;
  /** After an error: has the next step look at everything. */
  reset(): void;
  /** Keeps a slot, for a while, for a job that is claimed elsewhere, where nothing that was queued before may be waiting. */
  keep(): Kept | undefined;
  /** The slot is no longer kept. False: it was not any more. */
  unkeep(kept: Kept): boolean;
  /** How many slots are kept. */
  readonly kept: number;
  /** Whether a statement has not been answered. */
  readonly isUnderWay: boolean;
}

/** A slot that is kept. */
export interface Kept {
  readonly until: number;
}

export interface IntakeOptions {
  /** How long a slot is kept. */
  readonly keepMs: number;
  /** How many jobs may be in hand, and how many of them run. */
  readonly all: number;
  readonly concurrency: number;
  readonly claimer: Claimer;
  readonly slots: Slots;
  readonly ends: Ends;
  readonly session: Session;
  /** Where ends are recorded beside claims. */
  readonly recorder: Session | undefined;
  readonly isStopping: () => boolean;
  /** Reports jobs before they are started, and those that are dead instead. */
  readonly onClaimed: (jobs: readonly Job[], exhausted: readonly Job[]) => void;
  /** Ends have been recorded, or with an error have not and wait again. */
  readonly onRecorded: (error?: unknown) => void;
}

/** A claim under way. */
interface Claim {
  readonly limit: number;
  readonly claimedAt: number;
  readonly answer: Promise<Claimed>;
}

const RECORDER_PAUSE_MS = 10_000;
// A great many ended leases do not keep jobs from starting until all of them are recovered.
const MAX_SWEEPS = 10;

/**
 * A worker that fetches as many jobs ahead as it runs, and finds all that it asks for, claims by halves: one is on its way
 * while the other one is worked on, and ends are recorded on a connection of their own meanwhile. Any other has one
 * statement under way, which claims and records.
 */
export function createIntake(options: IntakeOptions): Intake {
  const { all, concurrency, claimer, slots, ends, session, recorder, isStopping } = options;
  const halves = all >= 2 * concurrency && session.queues;
  const half = Math.ceil(all / 2);
  let hungry = true;
  let ahead: Claim | undefined;
  let asked = 0;
  /** The oldest first. */
  const kept = new Set<Kept>();
  /** Whether the last claim found all that it asked for. */
  let flowing = false;
  let recording: Promise<void> | undefined;
  let recordFrom = -Infinity;

  const room = (): number => (isStopping() ? 0 : slots.room(asked + keptNow()));

  function keptNow(): number {
    // A statement that hangs must not keep its slot for ever.
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
    hungry ||= claimed.more;
    flowing = claimed.jobs.length === limit;
    options.onClaimed(claimed.jobs, []);
    slots.accept(claimed.jobs, claimedAt);
  }

  /** Recovers ended leases before jobs are claimed, which may be younger than theirs (JOB-34). */
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
      // They are given to the session of the claims, which tells whether the database is out.
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
        // A claim records those that are done, and no others.
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
