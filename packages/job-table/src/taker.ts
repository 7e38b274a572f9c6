import type { Row } from "@svc/sql";
import type { Job } from "./job.ts";

/** A worker of this process that may take a job in the statement that queues it. */
export interface Taker {
  /** Keeps a slot for a job of the task; undefined: it is to be queued for whoever comes first. */
  reserve(task: string): Place | undefined;
}

/** A slot that is kept. `take`, `pass` or `lose` is called, once. */
export interface Place {
  /** Sends the statement on the worker's own connection, which may have prepared it. Undefined: it is not idle, or there is none. */
  readonly send: (<R extends Row>(text: string, values: unknown[]) => Promise<R[]>) | undefined;
  /**
   * The job was queued and claimed, by a statement that was sent at `claimedAt`. One that comes too late is given back; what this
   * answers is waited for then.
   */
  take(job: Job, claimedAt: number): Promise<void> | undefined;
  /** Nothing was claimed: what there is is for whoever comes first. */
  pass(): void;
  /** The statement has failed: it may have queued and claimed the job of this id all the same. */
  lose(id: string): void;
}

/** The place that the first of them keeps. */
export function reserve(takers: Iterable<Taker>, task: string): Place | undefined {
  for (const taker of takers) {
    const place = taker.reserve(task);
    if (place !== undefined) return place;
  }
  return undefined;
}
