import type { CalmLogger } from "@svc/context";
import { guardedListener } from "@svc/resilience";

/** A tick that this scheduler has claimed. */
export interface FiredTick {
  /** The schedule. */
  readonly name: string;
  readonly task: string;
  /** The tick, ISO 8601 in UTC; the payload has it as `scheduled_for`. */
  readonly at: string;
  readonly jobId: string;
  /** False when a job of this id was in the table already. */
  readonly enqueued: boolean;
  /** Milliseconds from the tick to the claim. */
  readonly lateMs: number;
}

/** What a scheduler tells of what it does. */
export type SchedulerEvent =
  /** A tick was claimed and its job queued. */
  | { readonly type: "fired"; readonly tick: FiredTick }
  /** The newest missed tick of a schedule with `catchUp: false` was left out. */
  | { readonly type: "skipped"; readonly name: string; readonly at: string }
  /** A schedule could not queue its job; it is tried again, the others go on. */
  | { readonly type: "failed"; readonly name: string; readonly error: unknown }
  /** The database did not do what it was asked; the scheduler goes on trying. */
  | { readonly type: "fault"; readonly error: unknown };

export type Tell = (event: SchedulerEvent) => void;

/** Hands events on; a listener that throws is logged and changes nothing. */
export function createTell(listener: Tell | undefined, logger: CalmLogger | undefined): Tell {
  return guardedListener(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of a scheduler's events throws"),
  );
}
