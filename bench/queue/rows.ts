import { type HandlerName, handlers, type Mode } from "./contestant.ts";
import type { Task } from "./child.ts";

/** One line of the result: what every queue is asked to do. */
export interface Row {
  readonly metric: string;
  readonly unit: "per_s" | "ms";
  /** How often, beside the rounds that were asked for. */
  readonly rounds: number;
  /** What a queue is asked for; undefined: not in this round. */
  order(name: string, round: number, share: number): Task | undefined;
  readonly bound?: Bound | undefined;
}

/** What our figure has to be beside the better one of the others. */
export interface Bound {
  /** `least`: jobs per second, `most`: milliseconds. */
  readonly kind: "least" | "most";
  readonly factor: number;
  /** A goal that is missed is printed, and is no failure. */
  readonly goal: boolean;
}

/** How much is asked for. */
export interface Effort {
  readonly rounds: number;
  /** Of the usual numbers of jobs. */
  readonly share: number;
}

/** What one queue did in one row. */
export interface Result {
  readonly name: string;
  readonly metric: string;
  readonly unit: "per_s" | "ms";
  /** A figure a round. */
  readonly values: readonly number[];
  readonly bound: Bound | undefined;
  /** Milliseconds that it may take at most, where a figure is compared with nothing. */
  readonly limitMs?: number | undefined;
  /** Why it says nothing. */
  readonly doubt?: string | undefined;
  readonly workerUs?: number | undefined;
  readonly serverUs?: number | undefined;
  readonly inHand?: number | undefined;
}

export const concurrencies = [1, 10, 50] as const;
export const peers = ["graphile-worker", "pg-boss"] as const;
/** pg-boss once more, with several workers that share the batch: it takes part where others are at their fastest. */
export const spreadBoss = "pg-boss-4x125";

// Half a second each, about: by what ours and the faster one of the others do.
const MOST = { default: { 1: 1000, 10: 4000, 50: 10_000 }, fastest: { 1: 10_000, 10: 20_000, 50: 20_000 } };
const PEERS_DEFAULT = { 1: 800, 10: 2500, 50: 2500 };

function drainSize(name: string, handler: HandlerName, concurrency: 1 | 10 | 50, mode: Mode): number {
  // It looks again after two seconds: one look each, and one more.
  if (name === "pg-boss" && mode === "default") return 2 * concurrency;
  const most = name === "graphile-worker" && mode === "default" ? PEERS_DEFAULT : MOST[mode];
  const waitMs = handlers[handler];
  // As many as could be done in 0.6 s if nothing took time but the handlers.
  const possible = waitMs === 0 ? Infinity : Math.round((600 / (waitMs + 0.2)) * concurrency);
  return Math.min(most[concurrency], possible);
}

function drainRow(handler: HandlerName, concurrency: 1 | 10 | 50, mode: Mode): Row {
  return {
    metric: `drain/${handler}/c${concurrency}/${mode}`,
    unit: "per_s",
    // Where there are bounds, and rounds are short.
    rounds: handler === "noop" ? (mode === "fastest" ? 2 : 1) : 0.6,
    order(name, round, share) {
      if (name === spreadBoss && mode === "default") return undefined;
      // Four seconds for each, whatever the round: its figure is its polling.
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

/** The rows of latency, which are measured together: {@link rows} has them for their bounds. */
export const latencyBounds = {
  p50: { kind: "most", factor: 0.5, goal: false },
  p99: { kind: "most", factor: 0.75, goal: false },
} as const satisfies Record<string, Bound>;

/** Those of a producer in another process, beside graphile-worker, whose producers are always apart. */
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
