import type { Logger } from "@svc/context";
import type { FiredTick, SchedulerEvent } from "./events.ts";
import { jobIdOf, type ResolvedSchedule } from "./schedule.ts";
import { createStatementQueue } from "./statement-queue.ts";
import type { TickStore } from "./tick-store.ts";
import { newestOf } from "./times.ts";

/** Result of one pass over all schedules. */
export interface Pass {
  /** Ticks that this scheduler claimed. */
  readonly fired: readonly FiredTick[];
  /** Schedules whose tick could not be queued; a later pass tries again. */
  readonly failed: readonly { readonly name: string; readonly error: unknown }[];
}

/** A pass in progress. */
export interface RunningPass {
  /** Resolves when all due ticks have fired or failed. Never rejects. */
  readonly ended: Promise<Pass>;
}

interface BeginOptions {
  readonly retry: boolean;
  readonly onTime: (nowMs: number) => void;
}

interface PassOptions {
  readonly retentionMs: number;
  readonly now: (() => number) | undefined;
  readonly emit: (event: SchedulerEvent) => void;
  readonly logger: Pick<Logger, "info"> | undefined;
}

/** Pause before the next attempt after an error. */
export const RETRY_MS = 5000;
// For a schedule with `catchUp: false`, a tick that is overdue by more than this counts as missed.
const MISSED_AFTER_MS = 15_000;
const PRUNE_EVERY_MS = 3_600_000;
const PRUNE = "";

/** Creates `begin()`, which runs one pass: it checks all schedules and fires the due ticks. */
export function createPasses(
  store: TickStore,
  schedules: readonly ResolvedSchedule[],
  { retentionMs, now, emit, logger }: PassOptions,
) {
  const names = schedules.map(({ name }) => name);
  const queue = createStatementQueue();
  const failing = new Map<string, number>();
  const skipped = new Map<string, number>();
  let pruneAt = -Infinity;

  /** Returns the due tick of a schedule, if any. */
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
      logger?.info({ schedule: name, at }, "skipped a missed tick: catchUp is false");
      emit({ type: "skipped", name, at });
    }
    return undefined;
  }

  async function storeStart(name: string, nowMs: number): Promise<undefined> {
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
    emit({ type: "fired", tick });
    return tick;
  }

  async function prune(nowMs: number): Promise<void> {
    // The second condition allows pruning after the clock was set back.
    if (queue.isBusy(PRUNE) || (nowMs < pruneAt && nowMs >= pruneAt - PRUNE_EVERY_MS)) return;
    pruneAt = nowMs + PRUNE_EVERY_MS;
    try {
      const more = await queue.add(PRUNE, true, () => store.prune(nowMs - retentionMs));
      if (more) pruneAt = nowMs;
    } catch (error) {
      emit({ type: "fault", error });
    }
  }

  return {
    /** Schedules whose last attempt failed, with the time of their next attempt by `performance.now()`. */
    failing: failing as ReadonlyMap<string, number>,
    /**
     * Reads the last ticks once and fires the due ticks; with `retry` also the ticks of schedules that failed recently.
     * Calls `onTime` with the current time.
     *
     * @throws the database's error if the last ticks cannot be read
     */
    async begin({ retry, onTime }: BeginOptions): Promise<RunningPass> {
      if (names.length === 0) return { ended: Promise.resolve({ fired: [], failed: [] }) };
      const { serverMs, lastMs } = await store.read(names);
      const nowMs = now === undefined ? serverMs : now();
      onTime(nowMs);

      const fired: FiredTick[] = [];
      const failed: { name: string; error: unknown }[] = [];
      const attempts: Promise<void>[] = [];
      for (const schedule of schedules) {
        const { name } = schedule;
        if (queue.isBusy(name)) continue;
        const last = lastMs.get(name);
        const ms = last === undefined ? undefined : dueOf(schedule, last, nowMs);
        if (last !== undefined && ms === undefined) {
          // If the tick was due at the last attempt, another scheduler has claimed it since.
          failing.delete(name);
          continue;
        }
        const retryAt = failing.get(name);
        if (retryAt !== undefined && !retry && performance.now() < retryAt) continue;
        // Do not start another attempt before this attempt ends.
        if (retryAt !== undefined) failing.set(name, Infinity);
        const attempt = queue.add(name, retryAt !== undefined, () =>
          ms === undefined ? storeStart(name, nowMs) : fire(schedule, ms, nowMs),
        );
        attempts.push(
          attempt.then(
            (tick) => void (tick === undefined || fired.push(tick)),
            (error: unknown) => {
              failing.set(name, performance.now() + RETRY_MS);
              failed.push({ name, error });
              emit({ type: "failed", name, error });
            },
          ),
        );
      }
      attempts.push(prune(nowMs));
      return { ended: Promise.all(attempts).then(() => ({ fired, failed })) };
    },
  };
}
