import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job, Lease } from "../job.ts";
import { orphanSql } from "../sql/end.ts";
import type { Taker } from "../taker.ts";
import type { Intake, Kept } from "./intake.ts";
import type { Session } from "./session.ts";

/** Takes jobs that are claimed in the statement that queues them. */
export interface Direct extends Taker {
  /** Resolves when nothing is left to be given back. */
  settled(): Promise<void>;
}

export interface DirectOptions {
  readonly sql: string;
  readonly leaseSeconds: number;
  readonly handlers: ReadonlyMap<string, unknown>;
  readonly intake: Pick<Intake, "keep" | "unkeep">;
  readonly session: Session;
  /** Where jobs are given back: it outlives the worker, whose own connection may just have failed. */
  readonly spare: Session;
  /** Whether the worker gets on. */
  readonly isWell: () => boolean;
  /** Whether the worker has ended. */
  readonly isOver: () => boolean;
  readonly release: (lease: Lease) => Promise<unknown>;
  readonly onClaimed: (job: Job, claimedAt: number) => void;
  /** A slot is free again. */
  readonly onFree: () => void;
  /** Jobs were given back, or queued for whoever comes first. */
  readonly onGivenBack: () => void;
  readonly onFault: (error: unknown) => void;
  /** Milliseconds until so many failures later the next attempt is made. */
  readonly delay: (failures: number) => number;
}

const MAX_LOST = 1000;
// The statement whose connection broke may still be under way.
const SETTLE_MS = 250;
// After the worker's end: the process may want to end as well.
const LAST_TRIES = 5;

// What is lost for one caller is given back with what is lost for others: nothing of theirs is around it.
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
    // Nobody keeps a slot for what came so late.
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

  /** Those that are lost meanwhile are given their time too. */
  async function giveBack(): Promise<void> {
    while (lost.length > 0) {
      const ids = lost;
      lost = [];
      await sleep(SETTLE_MS);
      await giveBackThese(ids);
    }
    // In the same turn: one that is lost in the next begins anew.
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
        // Behind another statement it would wait for that one's commit.
        send: session.isIdle ? (text, values) => session.query("svc_job_direct", text, values) : undefined,
        take(job, claimedAt) {
          // So late that it is given back. Who has queued it may end the pool next.
          if (options.isOver() || performance.now() >= kept.until) return release(kept, job);
          // Who has queued it goes on first: a handler may keep the processor for a while.
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
