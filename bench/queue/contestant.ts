/** The handlers, and the milliseconds that each of them waits. */
export const handlers = { noop: 0, "1ms": 1, "10ms": 10 } as const;
export type HandlerName = keyof typeof handlers;

/** `default`: the queue's defaults, without prefetch. `fastest`: the settings that its manual recommends for throughput. */
export type Mode = "default" | "fastest";

/** Handles a job; `job` is the number in its payload. */
export type Work = (job: number) => Promise<void> | undefined;

/** A queue in its own database. */
export interface Contestant {
  /** Queues jobs with the payloads `{ n }`, in batches of the size that suits the queue best. */
  fill(numbers: readonly number[]): Promise<void>;
  enqueueOne(n: number): Promise<void>;
  enqueueMany(numbers: readonly number[]): Promise<void>;
  /** Starts a worker; resolves when it can start jobs. */
  work(concurrency: number, mode: Mode, work: Work): Promise<Working>;
  /** Switches on notifications of new jobs, if the queue has them as an option. */
  tell?(): void;
  /** Returns whether any job is waiting or running. */
  live(): Promise<boolean>;
  /** Whether the queue sends single jobs on one connection. */
  readonly isSingle?: boolean;
  /** Removes the rows of finished jobs from the queue's tables, as a vacuum does. */
  clean(): Promise<void>;
  /** Updates the planner's statistics of the queue's tables. */
  analyze(): Promise<void>;
  /** The version and notable settings of the queue. */
  readonly about: string;
  close(): Promise<void>;
}

export interface Working {
  stop(): Promise<void>;
}

/** The number of running and prefetched jobs in the mode `fastest`. */
export const BUFFER = 500;

/** Returns the largest number of jobs that would start again after a `kill -9` of the worker. */
export function inHand(name: string, concurrency: number, mode: Mode): number {
  if (mode === "default") return concurrency;
  // graphile-worker's local queue holds `BUFFER` jobs in addition to those that run.
  return name === "graphile-worker" ? BUFFER + concurrency : BUFFER;
}

/** Returns throwing stubs for the methods that a contestant does not need if only its latency is measured. */
export function latencyOnly(name: string): Pick<Contestant, "fill" | "enqueueMany" | "isSingle"> {
  const refuse = (): never => {
    throw new Error(`${name} runs only in the latency rows`);
  };
  return { fill: refuse, enqueueMany: refuse, isSingle: true };
}
