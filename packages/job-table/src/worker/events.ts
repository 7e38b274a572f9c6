import type { Logger } from "@svc/context";
import { createEmitter } from "@svc/resilience";
import type { Job, JobStats } from "../job.ts";

/** What `onEvent` receives. Times are in milliseconds. */
export type WorkerEvent =
  /** Jobs were claimed; each `waitedMs` says how long it was due. */
  | { readonly type: "claimed"; readonly jobs: readonly Job[] }
  /** A handler returned, and the job is deleted. */
  | { readonly type: "done"; readonly job: Job; readonly durationMs: number }
  /** A handler threw or timed out, and the job will be retried. */
  | { readonly type: "failed"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /** A job will not be retried: no attempts left, no handler, or its lease expired on every attempt. */
  | { readonly type: "dead"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /** A job was released with its attempt: the worker stops, or the rest of the lease was too short to start it. */
  | { readonly type: "released"; readonly job: Job }
  /** A job ended after its lease expired, so another worker may have started it again. `ended`: how it ended here. */
  | { readonly type: "lease_lost"; readonly job: Job; readonly ended: "done" | "failed" | "released" }
  /** The number of jobs, every `depthEverySeconds`. */
  | { readonly type: "depth"; readonly stats: JobStats }
  /** The database failed; the worker retries. */
  | { readonly type: "fault"; readonly error: unknown };

export type Tell = (event: WorkerEvent) => void;

/** Creates the function that calls the listener; a listener that throws is logged and changes nothing. */
export function createTell(listener: Tell | undefined, logger: Logger | undefined): Tell {
  return createEmitter(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of a worker's events throws"),
  ).emit;
}
