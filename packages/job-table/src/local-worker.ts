import type { Row } from "@svc/sql";
import type { Job } from "./job.ts";

/** A worker in this process that can claim a job in the statement that queues it. */
export interface LocalWorker {
  /** Reserves a slot for a job with this task. Returns undefined if the job must be queued for any worker. */
  reserve(task: string): Reservation | undefined;
}

/** A reserved slot. Call `accept`, `cancel` or `markLost` exactly once. */
export interface Reservation {
  /**
   * Sends a statement on the worker's own connection, where it may be prepared. Undefined if that connection is busy or
   * missing.
   */
  readonly send: (<R extends Row>(text: string, values: unknown[]) => Promise<R[]>) | undefined;
  /**
   * Starts the job that was queued and claimed by a statement sent at `claimedAt`. If the reservation has expired,
   * releases the job instead; await the returned promise.
   */
  accept(job: Job, claimedAt: number): Promise<void> | undefined;
  /** Frees the slot: no job was claimed. */
  cancel(): void;
  /** Frees the slot after a failed statement. The statement may still have queued and claimed the job with this id. */
  markLost(id: string): void;
}

/** Reserves a slot of the first worker with a free one, and moves that worker to the end of the set. */
export function reserve(workers: Set<LocalWorker>, task: string): Reservation | undefined {
  for (const worker of workers) {
    const reservation = worker.reserve(task);
    if (reservation === undefined) continue;
    workers.delete(worker);
    workers.add(worker);
    return reservation;
  }
  return undefined;
}
