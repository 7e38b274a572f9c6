import type { Job, Lease } from "../job.ts";
import { orphanSql } from "../sql/end.ts";
import type { Taker } from "../taker.ts";
import type { Intake, Kept } from "./intake.ts";
import type { Session } from "./session.ts";

/** Takes jobs that are claimed in the statement that queues them. */
export interface Direct extends Taker {
  /** Gives back what such a statement may have claimed whose answer was lost. */
  giveBack(): Promise<void>;
  /** Whether there is something to be given back now. */
  readonly isDue: boolean;
}

export interface DirectOptions {
  readonly sql: string;
  readonly handlers: ReadonlyMap<string, unknown>;
  readonly intake: Pick<Intake, "keep" | "unkeep">;
  readonly session: Session;
  /** Whether the worker gets on. */
  readonly isWell: () => boolean;
  /** Whether the worker has ended, and writes nothing any more. */
  readonly isOver: () => boolean;
  readonly release: (lease: Lease) => Promise<unknown>;
  readonly onClaimed: (job: Job, claimedAt: number) => void;
  /** A slot is free again. */
  readonly onFree: () => void;
}

const MAX_LOST = 1000;
// The statement whose connection broke may still be under way.
const SETTLE_MS = 250;

export function createDirect(options: DirectOptions): Direct {
  const { handlers, intake, session } = options;
  const sql = orphanSql(options.sql);
  let lost: string[] = [];
  let notBefore = -Infinity;

  function free(kept: Kept): void {
    intake.unkeep(kept);
    options.onFree();
  }

  function begin(kept: Kept, job: Job, claimedAt: number): void {
    // Nobody keeps a slot for what came so late.
    if (!options.isOver() && intake.unkeep(kept)) return options.onClaimed(job, claimedAt);
    const done = (): void => free(kept);
    options.release(job).then(done, done);
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
          // Who has queued it goes on first: a handler may keep the processor for a while.
          if (job === undefined) free(kept);
          else process.nextTick(begin, kept, job, claimedAt);
        },
        lose(id) {
          if (lost.length < MAX_LOST) lost.push(id);
          notBefore = performance.now() + SETTLE_MS;
          free(kept);
        },
      };
    },
    async giveBack() {
      const ids = lost;
      lost = [];
      try {
        await session.query("svc_job_orphans", sql, [ids]);
      } catch (error) {
        lost.push(...ids);
        throw error;
      }
    },
    get isDue() {
      return lost.length > 0 && performance.now() >= notBefore;
    },
  };
}
