import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "./job.ts";
import type { LocalWorker } from "./local-worker.ts";
import { orphanSql } from "./sql/release.ts";
import type { ReservedSlot, WorkerState } from "./worker/claim-loop.ts";
import { retryDelay } from "./worker/session.ts";

export interface Reservations extends LocalWorker {
  /** Resolves when no lost job (one claimed by an insert without a response) is waiting to be released. */
  settled(): Promise<void>;
}

const MAX_LOST = 1000;
// Delay before lost jobs are released: the statement on the broken connection may still be running.
const SETTLE_MS = 250;
// A stopped worker gives up after this many failed tries, because they keep the process alive.
const LAST_TRIES = 5;

// Run outside any context: jobs do not inherit the context that queued them, and one statement releases jobs from
// several callers.
const outside = AsyncLocalStorage.snapshot();

/**
 * Creates a worker's reservations. A reservation holds a free slot for a job that is claimed by the statement that
 * queues it, and is refused while other jobs may be due.
 */
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

  /** Releases lost jobs, including those that are added while it runs. */
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
        // On a busy connection the statement would wait for the one before it.
        send: session.isIdle ? (text, values) => session.query("svc_job_direct", text, values) : undefined,
        accept(job, claimedAt) {
          // The reservation has expired: release the job. The caller awaits this, because it may close the pool next.
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
