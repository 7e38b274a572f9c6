import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "./job.ts";
import type { LocalWorker } from "./local-worker.ts";
import { orphanSql } from "./sql/release.ts";
import type { ReservedSlot, WorkerState } from "./worker/claim-loop.ts";
import { retryDelay } from "./worker/session.ts";

/** The reservations of one worker. */
export interface Reservations extends LocalWorker {
  /** Resolves when every lost job has been released. */
  settled(): Promise<void>;
}

const MAX_LOST = 1000;
// The statement on the broken connection may still be running.
const SETTLE_MS = 250;
// After the worker has stopped, the process may exit too, so limit the retries.
const LAST_TRIES = 5;

// Run outside any context: jobs do not inherit the context that queued them, and one statement releases jobs from
// several callers.
const outside = AsyncLocalStorage.snapshot();

/** Reserves a worker's free slots for jobs that are claimed by their insert, unless an earlier job may be waiting. */
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

  /** Makes the group look for jobs, because jobs were released or queued for any worker. */
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

  /** Releases lost jobs, including jobs that are lost in the meantime. */
  async function releaseAllLost(): Promise<void> {
    while (lost.length > 0) {
      const ids = lost;
      lost = [];
      await sleep(SETTLE_MS);
      await releaseWithRetries(ids);
    }
    // Reset this in the same turn, so that a job lost in the next turn starts a new run.
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
        // On this connection a queued statement would wait until the preceding one commits.
        send: session.isIdle ? (text, values) => session.query("svc_job_direct", text, values) : undefined,
        accept(job, claimedAt) {
          // Release the job, because it is too late to start it. The caller waits, because it may close the pool next.
          if (state.isOver || performance.now() >= slot.until) return release(slot, job);
          // Let the caller continue first, because a handler may block the event loop.
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
