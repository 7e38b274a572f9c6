import type { CalmLogger } from "@svc/context";
import { guardedListener } from "@svc/resilience";
import type { Job, JobStats } from "../job.ts";

/** What a worker tells of what it does. Times are in milliseconds. */
export type WorkerEvent =
  /** Jobs were claimed; each says in `waitedMs` how long it could have been claimed. */
  | { readonly type: "claimed"; readonly jobs: readonly Job[] }
  /** A handler returned, and the job is deleted. */
  | { readonly type: "done"; readonly job: Job; readonly durationMs: number }
  /** A handler threw or took too long, and the job will be tried again. */
  | { readonly type: "failed"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /** A job is not tried again: out of attempts, without a handler, or its worker was lost every time. */
  | { readonly type: "dead"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /** A job was given back with its attempt: the worker stops, or its lease had grown too short to begin. */
  | { readonly type: "released"; readonly job: Job }
  /** A job ended after its lease: somebody else may have begun it again. `ended` is how it ended here. */
  | { readonly type: "lease_lost"; readonly job: Job; readonly ended: "done" | "failed" | "released" }
  /** How many jobs there are, every `depthEverySeconds`. */
  | { readonly type: "depth"; readonly stats: JobStats }
  /** The database did not do what it was asked; the worker goes on trying. */
  | { readonly type: "fault"; readonly error: unknown };

export type Tell = (event: WorkerEvent) => void;

/** Hands events on; a listener that throws is logged and changes nothing. */
export function createTell(listener: Tell | undefined, logger: CalmLogger | undefined): Tell {
  return guardedListener(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of a worker's events throws"),
  );
}
