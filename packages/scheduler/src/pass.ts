import type { CalmLogger } from "@svc/context";
import type { FiredTick, Tell } from "./events.ts";
import { createLanes } from "./lanes.ts";
import { jobIdOf, type ResolvedSchedule } from "./schedule.ts";
import type { TickStore } from "./tick-store.ts";
import { newestOf } from "./times.ts";

/** What one look at all schedules has come to. */
export interface Pass {
  /** Ticks that this scheduler has claimed. */
  readonly fired: readonly FiredTick[];
  /** Schedules whose tick could not be queued; they are tried again at a later pass. */
  readonly failed: readonly { readonly name: string; readonly error: unknown }[];
}

/** A pass that is under way. */
export interface Begun {
  /** When all that was due is done or has failed. Never rejects. */
  readonly ended: Promise<Pass>;
}

/** Looks at all schedules, and fires what is due. */
export interface Passes {
  /**
   * Looks once and begins what is due. With `retry` also what has failed just now. `onTime` is told what time it is.
   *
   * @throws what the database says when it is asked for the last ticks
   */
  begin(options: { readonly retry: boolean; readonly onTime: (nowMs: number) => void }): Promise<Begun>;
  /** Schedules that failed last, with the moment by `performance.now` at which they are tried again. */
  readonly failing: ReadonlyMap<string, number>;
}

interface PassOptions {
  readonly retentionMs: number;
  readonly now: (() => number) | undefined;
  readonly tell: Tell;
  readonly logger: CalmLogger | undefined;
}

/** How long after an error something is tried again. */
export const RETRY_MS = 5000;
// A tick that is later than this was missed, for a schedule that does not catch up.
const MISSED_AFTER_MS = 15_000;
const PRUNE_EVERY_MS = 3_600_000;
const PRUNE = "";

export function createPasses(
  store: TickStore,
  schedules: readonly ResolvedSchedule[],
  { retentionMs, now, tell, logger }: PassOptions,
): Passes {
  const names = schedules.map(({ name }) => name);
  const lanes = createLanes();
  const failing = new Map<string, number>();
  const skipped = new Map<string, number>();
  let pruneAt = -Infinity;

  /** The tick that is due, if there is one. */
  function dueOf(
    { name, times, catchUp }: ResolvedSchedule,
    lastMs: number,
    nowMs: number,
  ): number | undefined {
    const ms = newestOf(times, lastMs, nowMs);
    if (ms === undefined || catchUp || nowMs - ms <= MISSED_AFTER_MS) return ms;
    if (skipped.get(name) !== ms) {
      skipped.set(name, ms);
      const at = new Date(ms).toISOString();
      logger?.info({ schedule: name, at }, "a tick was missed, and is not caught up with");
      tell({ type: "skipped", name, at });
    }
    return undefined;
  }

  async function greet(name: string, nowMs: number): Promise<undefined> {
    await store.begin(name, nowMs);
    failing.delete(name);
  }

  async function fire(schedule: ResolvedSchedule, ms: number, nowMs: number): Promise<FiredTick | undefined> {
    const { name, task } = schedule;
    const made = await store.fire(schedule, ms);
    failing.delete(name);
    if (made === undefined) return undefined;
    const at = new Date(ms).toISOString();
    const jobId = jobIdOf(name, at);
    const tick: FiredTick = { name, task, at, jobId, ...made, lateMs: Math.round(nowMs - ms) };
    logger?.info({ schedule: name, task, job_id: jobId, at, late_ms: tick.lateMs }, "a tick was queued");
    tell({ type: "fired", tick });
    return tick;
  }

  async function prune(nowMs: number): Promise<void> {
    // A clock that was put back must not stop it for long.
    if (lanes.isBusy(PRUNE) || (nowMs < pruneAt && nowMs >= pruneAt - PRUNE_EVERY_MS)) return;
    pruneAt = nowMs + PRUNE_EVERY_MS;
    try {
      const more = await lanes.enter(PRUNE, true, () => store.prune(nowMs - retentionMs));
      if (more) pruneAt = nowMs;
    } catch (error) {
      tell({ type: "fault", error });
    }
  }

  return {
    failing,
    async begin({ retry, onTime }) {
      if (names.length === 0) return { ended: Promise.resolve({ fired: [], failed: [] }) };
      const { serverMs, lastMs } = await store.read(names);
      const nowMs = now === undefined ? serverMs : now();
      onTime(nowMs);

      const fired: FiredTick[] = [];
      const failed: { name: string; error: unknown }[] = [];
      const under: Promise<void>[] = [];
      for (const schedule of schedules) {
        const { name } = schedule;
        if (lanes.isBusy(name)) continue;
        const last = lastMs.get(name);
        const ms = last === undefined ? undefined : dueOf(schedule, last, nowMs);
        if (last !== undefined && ms === undefined) {
          // Somebody else has done it, if it was due.
          failing.delete(name);
          continue;
        }
        const retryAt = failing.get(name);
        if (retryAt !== undefined && !retry && performance.now() < retryAt) continue;
        // Until it is known what has become of it, it is not due to be tried again.
        if (retryAt !== undefined) failing.set(name, Infinity);
        const attempt = lanes.enter(name, retryAt !== undefined, () =>
          ms === undefined ? greet(name, nowMs) : fire(schedule, ms, nowMs),
        );
        under.push(
          attempt.then(
            (tick) => void (tick === undefined || fired.push(tick)),
            (error: unknown) => {
              failing.set(name, performance.now() + RETRY_MS);
              failed.push({ name, error });
              tell({ type: "failed", name, error });
            },
          ),
        );
      }
      under.push(prune(nowMs));
      return { ended: Promise.all(under).then(() => ({ fired, failed })) };
    },
  };
}
