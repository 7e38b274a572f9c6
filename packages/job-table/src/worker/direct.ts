import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job, Lease } from "../job.ts";
import { orphanSql } from "../sql/end.ts";
import type { Taker } from "../taker.ts";
import type { Intake, Kept } from "./intake.ts";
import type { Session } from "./session.ts";

/** Takes jobs that the queueing statement has claimed. */
export interface Direct extends Taker {
  /** Resolves when every job to release is released. */
  settled(): Promise<void>;
}

export interface DirectOptions {
  readonly sql: string;
  readonly leaseSeconds: number;
  readonly handlers: ReadonlyMap<string, unknown>;
  readonly intake: Pick<Intake, "keep" | "unkeep">;
  readonly session: Session;
  /** The session for releasing jobs: it outlives the worker, whose own connection may have failed. */
  readonly spare: Session;
  /** Whether the worker's last statement succeeded. */
  readonly isWell: () => boolean;
  /** Whether the worker has stopped. */
  readonly isOver: () => boolean;
  readonly release: (lease: Lease) => Promise<unknown>;
  readonly onClaimed: (job: Job, claimedAt: number) => void;
  /** A slot became free. */
  readonly onFree: () => void;
  /** Jobs were released or queued for any worker. */
  readonly onGivenBack: () => void;
  readonly onFault: (error: unknown) => void;
  /** Returns the milliseconds before the next retry after so many failures. */
  readonly delay: (failures: number) => number;
}

const MAX_LOST = 1000;
// The statement of the broken connection may still run.
const SETTLE_MS = 250;
// After the worker's end the process may exit too.
const LAST_TRIES = 5;

// One statement releases jobs of several callers, so it must not run in the context of one of them.
const outside = AsyncLocalStorage.snapshot();

export function createDirect(options: DirectOptions): Direct {
  const { handlers, intake, session, spare, leaseSeconds } = options;
  const sql = orphanSql(options.sql);
  let lost: string[] = [];
  let giving: Promise<void> | undefined;

  function free(kept: Kept): void {
    intake.unkeep(kept);
    options.onFree();
  }

  function begin(kept: Kept, job: Job, claimedAt: number): void {
    // The reservation may have expired.
    if (!options.isOver() && intake.unkeep(kept)) options.onClaimed(job, claimedAt);
    else void release(kept, job);
  }

  function release(kept: Kept, job: Job): Promise<void> {
    return options.release(job).then(
      () => free(kept),
      () => lose(kept, job.id),
    );
  }

  function lose(kept: Kept, id: string): void {
    if (lost.length < MAX_LOST) lost.push(id);
    giving ??= outside(giveBack);
    free(kept);
  }

  /** Releases lost jobs, including those that get lost meanwhile. */
  async function giveBack(): Promise<void> {
    while (lost.length > 0) {
      const ids = lost;
      lost = [];
      await sleep(SETTLE_MS);
      await giveBackThese(ids);
    }
    // In the same turn, so that a job lost in the next turn starts a new run.
    giving = undefined;
  }

  async function giveBackThese(ids: readonly string[]): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        await spare.query("svc_job_orphans", sql, [ids, leaseSeconds]);
        options.onGivenBack();
        return;
      } catch (error) {
        options.onFault(error);
        if (options.isOver() && failures >= LAST_TRIES) return;
      }
      await sleep(options.delay(failures));
    }
  }

  return {
    reserve(task) {
      if (!options.isWell() || !handlers.has(task)) return undefined;
      const kept = intake.keep();
      if (kept === undefined) return undefined;
      return {
        // Behind another statement it would wait for that commit.
        send: session.isIdle ? (text, values) => session.query("svc_job_direct", text, values) : undefined,
        take(job, claimedAt) {
          // Too late: release it, and make the caller wait, because it may close the pool next.
          if (options.isOver() || performance.now() >= kept.until) return release(kept, job);
          // Let the caller continue first: a handler may block the event loop for a while.
          process.nextTick(begin, kept, job, claimedAt);
          return undefined;
        },
        pass() {
          free(kept);
          options.onGivenBack();
        },
        lose: (id) => lose(kept, id),
      };
    },
    settled: () => giving ?? Promise.resolve(),
  };
}
