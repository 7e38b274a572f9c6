import type { Row } from "@svc/sql";
import type { Job } from "./job.ts";

/** A worker of this process that can claim a job in the statement that queues it. */
export interface Taker {
  /** Reserves a slot for a job of the task; undefined: queue the job for any worker. */
  reserve(task: string): Place | undefined;
}

/** A reserved slot. The caller calls `take`, `pass` or `lose` exactly once. */
export interface Place {
  /**
   * Sends a statement on the worker's own connection, where it may be prepared. Undefined: that connection is busy or
   * missing.
   */
  readonly send: (<R extends Row>(text: string, values: unknown[]) => Promise<R[]>) | undefined;
  /**
   * Takes the job, which a statement sent at `claimedAt` has queued and claimed. If that took too long, the job is
   * released and the caller waits for the returned promise.
   */
  take(job: Job, claimedAt: number): Promise<void> | undefined;
  /** Frees the slot: no job was claimed. */
  pass(): void;
  /** Frees the slot after a failed statement, which may still have queued and claimed the job with this id. */
  lose(id: string): void;
}

/** Reserves a slot at the first worker that has one. */
export function reserve(takers: Iterable<Taker>, task: string): Place | undefined {
  for (const taker of takers) {
    const place = taker.reserve(task);
    if (place !== undefined) return place;
  }
  return undefined;
}
