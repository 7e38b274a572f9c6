import type { Job, Lease } from "../job.ts";
import { orphanSql } from "../sql/end.ts";
import type { Taker } from "../taker.ts";
import type { Intake } from "./intake.ts";
import type { Session } from "./session.ts";

/** Takes jobs that are claimed in the statement that queues them. */
export interface Direct extends Taker {
  /** Gives back what such a statement may have claimed whose answer was lost. */
  giveBack(session: Session): Promise<void>;
  /** Whether there is something to be given back now. */
  readonly isDue: boolean;
}

export interface DirectOptions {
  readonly sql: string;
  readonly handlers: ReadonlyMap<string, unknown>;
  readonly intake: Pick<Intake, "keep" | "unkeep">;
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
  const { handlers, intake } = options;
  const sql = orphanSql(options.sql);
  let lost: string[] = [];
  let notBefore = -Infinity;

  function free(): void {
    intake.unkeep();
    options.onFree();
  }

  function begin(job: Job, claimedAt: number): void {
    if (options.isOver()) {
      options.release(job).then(free, free);
      return;
    }
    intake.unkeep();
    options.onClaimed(job, claimedAt);
  }

  return {
    reserve(task) {
      if (!options.isWell() || !handlers.has(task) || !intake.keep()) return undefined;
      return {
        take(job, claimedAt) {
          // Who has queued it goes on first: a handler may keep the processor for a while.
          if (job === undefined) free();
          else process.nextTick(begin, job, claimedAt);
        },
        lose(id) {
          if (lost.length < MAX_LOST) lost.push(id);
          notBefore = performance.now() + SETTLE_MS;
          free();
        },
      };
    },
    async giveBack(session) {
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
