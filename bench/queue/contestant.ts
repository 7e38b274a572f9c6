/** The handlers, by their waiting time in milliseconds. */
export const handlers = { noop: 0, "1ms": 1, "10ms": 10 } as const;
export type HandlerName = keyof typeof handlers;

/** `default`: the queue's defaults, without prefetch. `fastest`: the settings that its manual recommends for throughput. */
export type Mode = "default" | "fastest";

/** The work of a job, which has its number in the payload. */
export type Work = (job: number) => Promise<void> | undefined;

/** A queue in its own database. */
export interface Contestant {
  /** Queues jobs with the payloads `{ n }`, in calls of the size that suits the queue best. */
  fill(numbers: readonly number[]): Promise<void>;
  enqueueOne(n: number): Promise<void>;
  enqueueMany(numbers: readonly number[]): Promise<void>;
  /** Starts a worker; resolves when it can start jobs. */
  work(concurrency: number, mode: Mode, work: Work): Promise<Working>;
  /** Switches on notifications of new jobs, if the queue has them as an option. */
  tell?(): void;
  /** Returns whether a job waits or runs. */
  live(): Promise<boolean>;
  /** Whether it queues jobs one by one on a single connection. */
  readonly isSingle?: boolean;
  /** Removes finished jobs from its tables, as after a vacuum. */
  clean(): Promise<void>;
  /** Updates the planner's statistics of its tables. */
  analyze(): Promise<void>;
  /** Its version and notable settings. */
  readonly about: string;
  close(): Promise<void>;
}

export interface Working {
  stop(): Promise<void>;
}

/** The number of running and prefetched jobs in the mode `fastest`. */
export const BUFFER = 500;

/** Returns the largest number of jobs that a `kill -9` would cause to start again. */
export function inHand(name: string, concurrency: number, mode: Mode): number {
  if (mode === "default") return concurrency;
  // Graphile's local queue holds that many in addition to those that run.
  return name === "graphile-worker" ? BUFFER + concurrency : BUFFER;
}

/** Returns the members that a case needs only outside of the rows of latency; they throw. */
export function latencyOnly(name: string): Pick<Contestant, "fill" | "enqueueMany" | "isSingle"> {
  const refuse = (): never => {
    throw new Error(`${name} has rows of latency only`);
  };
  return { fill: refuse, enqueueMany: refuse, isSingle: true };
}
