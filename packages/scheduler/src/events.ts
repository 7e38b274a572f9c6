/** A tick that this scheduler claimed. */
export interface FiredTick {
  /** Name of the schedule. */
  readonly name: string;
  readonly task: string;
  /** Time of the tick, ISO 8601 in UTC; the payload has it as `scheduled_for`. */
  readonly at: string;
  readonly jobId: string;
  /** False if a job with this id was already in the table. */
  readonly enqueued: boolean;
  /** Milliseconds from the tick to the claim. */
  readonly lateMs: number;
}

/** Events that a scheduler reports. */
export type SchedulerEvent =
  /** A tick was claimed and its job queued. */
  | { readonly type: "fired"; readonly tick: FiredTick }
  /** A schedule with `catchUp: false` skipped its newest missed tick. */
  | { readonly type: "skipped"; readonly name: string; readonly at: string }
  /** A schedule could not queue its job; the scheduler tries again later, and the other schedules continue. */
  | { readonly type: "failed"; readonly name: string; readonly error: unknown }
  /** A statement or the clock failed; the scheduler tries again. */
  | { readonly type: "fault"; readonly error: unknown };
