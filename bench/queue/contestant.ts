/** What handlers do: nothing, or wait by the clock. */
export const handlers = { noop: 0, "1ms": 1, "10ms": 10 } as const;
export type HandlerName = keyof typeof handlers;

/** `default`: as it comes, nothing fetched before there is a slot for it. `fastest`: as its manual says. */
export type Mode = "default" | "fastest";

/** What a job does; its number is in its payload. */
export type Work = (job: number) => Promise<void> | undefined;

/** A queue in a database of its own. */
export interface Contestant {
  /** Queues jobs with the payloads `{ n }`, as many as it takes best in a call. */
  fill(numbers: readonly number[]): Promise<void>;
  enqueueOne(n: number): Promise<void>;
  enqueueMany(numbers: readonly number[]): Promise<void>;
  /** Starts a worker; resolves when it may have begun. */
  work(concurrency: number, mode: Mode, work: Work): Promise<Working>;
  /** From now on workers hear of a new job at once, where a queue has that as an option. */
  tell?(): void;
  /** Whether a job waits or runs. */
  live(): Promise<boolean>;
  /** Has only one connection to queue on, one job after the other. */
  readonly isSingle?: boolean;
  /** Leaves its tables without finished jobs, as they are right after a vacuum. */
  clean(): Promise<void>;
  /** Has the planner know what is in its tables. */
  analyze(): Promise<void>;
  /** Its version, and what else there is to know. */
  readonly about: string;
  close(): Promise<void>;
}

export interface Working {
  stop(): Promise<void>;
}

/** Jobs in hand in the mode `fastest`: running, or fetched before their time. */
export const BUFFER = 500;

/** How many jobs a `kill -9` would leave to be begun again, at most. */
export function inHand(name: string, concurrency: number, mode: Mode): number {
  if (mode === "default") return concurrency;
  // Graphile's local queue holds that many beside those that run.
  return name === "graphile-worker" ? BUFFER + concurrency : BUFFER;
}

/** What somebody leaves out who takes part in the rows of latency alone. */
export function latencyOnly(name: string): Pick<Contestant, "fill" | "enqueueMany" | "isSingle"> {
  const refuse = (): never => {
    throw new Error(`${name} has rows of latency only`);
  };
  return { fill: refuse, enqueueMany: refuse, isSingle: true };
}
