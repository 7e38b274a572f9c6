import { type HandlerName, handlers, type Mode } from "./contestant.ts";
import type { Task } from "./child.ts";

/** A row of the result: a task that every queue runs. */
export interface Row {
  readonly metric: string;
  readonly unit: "per_s" | "ms";
  /** The number of rounds, as a factor of the requested number. */
  readonly rounds: number;
  /** Returns the task of a queue, or undefined if the queue skips this round. */
  order(name: string, round: number, share: number): Task | undefined;
  readonly bound?: Bound | undefined;
}

/** The required ratio of `svc` to the better one of the other queues. */
export interface Bound {
  /** `least` is a minimum, for jobs per second; `most` is a maximum, for milliseconds. */
  readonly kind: "least" | "most";
  readonly factor: number;
  /** A missed goal is reported but does not fail the run. */
  readonly goal: boolean;
}

/** The size of a run. */
export interface Effort {
  readonly rounds: number;
  /** The share of the usual numbers of jobs. */
  readonly share: number;
}

/** The result of one queue in one row. */
export interface Result {
  readonly name: string;
  readonly metric: string;
  readonly unit: "per_s" | "ms" | "tx";
  /** One measurement per round. */
  readonly values: readonly number[];
  readonly bound: Bound | undefined;
  /** The maximum, for a result that is not compared with other queues. */
  readonly limit?: number | undefined;
  /** Why the result is not usable. */
  readonly doubt?: string | undefined;
  readonly workerUs?: number | undefined;
  readonly serverUs?: number | undefined;
  readonly inHand?: number | undefined;
}

export const concurrencies = [1, 10, 50] as const;
export const peers = ["graphile-worker", "pg-boss"] as const;
/** pg-boss with several workers that share the batch. It runs only in the mode `fastest`. */
export const spreadBoss = "pg-boss-4x125";

// Numbers of jobs that take about half a second: `MOST` at the speed of `svc`, `PEERS_DEFAULT` at that of
// graphile-worker.
const MOST = { default: { 1: 1000, 10: 4000, 50: 10_000 }, fastest: { 1: 10_000, 10: 20_000, 50: 20_000 } };
const PEERS_DEFAULT = { 1: 800, 10: 2500, 50: 2500 };

function drainSize(name: string, handler: HandlerName, concurrency: 1 | 10 | 50, mode: Mode): number {
  // In this mode pg-boss polls every two seconds: measure the jobs of two polls, each with one job per slot.
  if (name === "pg-boss" && mode === "default") return 2 * concurrency;
  const most = name === "graphile-worker" && mode === "default" ? PEERS_DEFAULT : MOST[mode];
  const waitMs = handlers[handler];
  // Run as many jobs as would fit into 0.6 s if only the handlers took time.
  const possible = waitMs === 0 ? Infinity : Math.round((600 / (waitMs + 0.2)) * concurrency);
  return Math.min(most[concurrency], possible);
}

function drainRow(handler: HandlerName, concurrency: 1 | 10 | 50, mode: Mode): Row {
  return {
    metric: `drain/${handler}/c${concurrency}/${mode}`,
    unit: "per_s",
    // Rows with bounds have short rounds, so run more rounds.
    rounds: handler === "noop" ? (mode === "fastest" ? 2 : 1) : 0.6,
    order(name, round, share) {
      if (name === spreadBoss && mode === "default") return undefined;
      // Measure only one round, which takes four seconds: the result is pg-boss's polling interval.
      if (name === "pg-boss" && mode === "default" && round > 0) return undefined;
      const size = drainSize(name, handler, concurrency, mode);
      const jobs = name === "pg-boss" && mode === "default" ? size : Math.max(10, Math.round(size * share));
      return { order: "drain", handler, concurrency, mode, jobs };
    },
    bound: handler === "noop" ? drainBound(concurrency, mode) : undefined,
  };
}

function drainBound(concurrency: number, mode: Mode): Bound {
  if (concurrency === 1) return { kind: "least", factor: 1, goal: true };
  if (mode === "fastest") return { kind: "least", factor: 1.4, goal: false };
  return { kind: "least", factor: concurrency === 50 ? 5 : 2, goal: false };
}

const ENQUEUES = { single: { svc: 4000, peer: 1500 }, bulk: { svc: 30_000, peer: 20_000 } };

function enqueueRow(how: "single" | "bulk", factor: number): Row {
  return {
    metric: `enqueue/${how}`,
    unit: "per_s",
    rounds: how === "bulk" ? 2 : 1,
    order(name, _round, share) {
      if (name === spreadBoss) return undefined;
      const peer = (peers as readonly string[]).includes(name);
      const jobs = Math.round(ENQUEUES[how][peer ? "peer" : "svc"] * share);
      return { order: "enqueue", how, jobs: how === "bulk" ? Math.ceil(jobs / 1000) * 1000 : jobs };
    },
    bound: { kind: "least", factor, goal: false },
  };
}

/** The bounds of the latency rows, which are measured together and are not in {@link rows}. */
export const latencyBounds = {
  p50: { kind: "most", factor: 0.5, goal: false },
  p99: { kind: "most", factor: 0.75, goal: false },
} as const satisfies Record<string, Bound>;

/** The bounds with a separate producer, compared with graphile-worker, whose producers are always separate. */
export const apartBounds = {
  p50: { kind: "most", factor: 0.75, goal: false },
  p99: { kind: "most", factor: 1, goal: false },
} as const satisfies Record<string, Bound>;

export const rows: readonly Row[] = [
  ...(Object.keys(handlers) as HandlerName[]).flatMap((handler) =>
    concurrencies.flatMap((concurrency) =>
      (["default", "fastest"] as const).map((mode) => drainRow(handler, concurrency, mode)),
    ),
  ),
  enqueueRow("single", 1.6),
  enqueueRow("bulk", 1.3),
];
