import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "./job.ts";
import type { LocalWorker } from "./local-worker.ts";
import { orphanSql } from "./sql/release.ts";
import type { ReservedSlot, WorkerState } from "./worker/claim-loop.ts";
import { retryDelay } from "./worker/session.ts";

/** The reservations of one worker. */
export interface Reservations extends LocalWorker {
  /** Resolves when every lost job is released. */
  settled(): Promise<void>;
}

const MAX_LOST = 1000;
// The statement of the broken connection may still run.
const SETTLE_MS = 250;
// After the worker's end the process may exit too.
const LAST_TRIES = 5;

// Jobs do not inherit the context of the code that queued them, and one statement releases those of several callers.
const outside = AsyncLocalStorage.snapshot();

/** Reserves free slots of a worker for jobs that are claimed at their insert, unless an earlier job may be waiting. */
export function createReservations(state: WorkerState): Reservations {
  // The spare session outlives the worker, whose own connection may have failed.
  const { options, session, spare, wakeup, report, jobs, reserved } = state;
  const { table, on, handlers } = options;
  const releaseLost = orphanSql(on.quotedTable);
  let lost: string[] = [];
  let releasing: Promise<void> | undefined;

  function free(slot: ReservedSlot): void {
    reserved.free(slot);
    wakeup.ring();
  }

  /** Jobs were released, or queued for any worker. */
  function lookForJobs(): void {
    state.group.mayBeDue();
  }

  function start(slot: ReservedSlot, job: Job, claimedAt: number): void {
    // The reservation may have expired.
    if (state.isOver || !reserved.free(slot)) return void release(slot, job);
    outside(() => {
      report.emit({ type: "claimed", jobs: [job] });
      jobs.accept([job], claimedAt);
      wakeup.ring();
    });
  }

  function release(slot: ReservedSlot, job: Job): Promise<void> {
    return table.release(job).then(
      () => free(slot),
      () => markLost(slot, job.id),
    );
  }

  function markLost(slot: ReservedSlot, id: string): void {
    if (lost.length < MAX_LOST) lost.push(id);
    releasing ??= outside(releaseAllLost);
    free(slot);
  }

  /** Releases lost jobs, including those that get lost meanwhile. */
  async function releaseAllLost(): Promise<void> {
    while (lost.length > 0) {
      const ids = lost;
      lost = [];
      await sleep(SETTLE_MS);
      await releaseWithRetries(ids);
    }
    // In the same turn, so that a job lost in the next turn starts a new run.
    releasing = undefined;
  }

  async function releaseWithRetries(ids: readonly string[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await spare.query("svc_job_orphans", releaseLost, [ids, on.visibilityTimeoutSeconds]);
        return lookForJobs();
      } catch (error) {
        report.fault(error);
        if (state.isOver && failures >= LAST_TRIES) return;
      }
      await sleep(retryDelay(failures));
    }
  }

  return {
    reserve(task) {
      if (state.failures > 0 || !handlers.has(task)) return undefined;
      if (state.isStopping || state.group.claims > 0 || state.asked > 0) return undefined;
      if (state.claimer.untilSweep() <= 0 || !jobs.hasFreeSlot(reserved.count)) return undefined;
      const slot = reserved.add();
      return {
        // A statement queued on this connection would wait for the commit of the one before.
        send: session.isIdle ? (text, values) => session.query("svc_job_direct", text, values) : undefined,
        accept(job, claimedAt) {
          // Too late: release it, and make the caller wait, because it may close the pool next.
          if (state.isOver || performance.now() >= slot.until) return release(slot, job);
          // Let the caller continue first: a handler may block the event loop for a while.
          process.nextTick(start, slot, job, claimedAt);
          return undefined;
        },
        cancel() {
          reserved.free(slot);
          lookForJobs();
        },
        markLost: (id) => markLost(slot, id),
      };
    },
    settled: () => releasing ?? Promise.resolve(),
  };
}
