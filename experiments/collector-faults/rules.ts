import { quantile } from "../harness/report.ts";

/** The text in `/ready` from a failed batch until one succeeds (TRACE-23). */
export const FAILING = "span export failing; spans are being dropped";
/** Sizes of the queue of spans and of a batch. */
export const QUEUE = 2048;
export const BATCH = 512;
/** Maximum number of spans that are neither exported nor dropped: a full queue, and the batch that is being exported. */
export const MOST_QUEUED = QUEUE + BATCH;
/** Maximum p50 during a fault, as a multiple of the mean p50 of the healthy rounds around it. */
const MOST_P50 = 1.05;
/**
 * Minimum spread of p99 between healthy rounds, as a share of the higher p99, because two rounds may be equal by chance.
 */
const LEAST_SPREAD = 0.25;

/** Latencies of the requests in one round, in milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export function latencyOf(latencies: readonly number[]): Latency {
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/**
 * Returns the maximum latencies during a fault between two healthy rounds: 105 % of their mean p50, and the higher p99 plus
 * their spread.
 */
export function limitsOf(before: Latency, after: Latency): Latency {
  const higher = Math.max(before.p99, after.p99);
  const spread = Math.max(Math.abs(before.p99 - after.p99), LEAST_SPREAD * higher);
  return { p50: (MOST_P50 * (before.p50 + after.p50)) / 2, p99: higher + spread };
}

/** Returns the state of the export in `/ready`: `failing`, `exporting` or an unexpected text. */
export function stateIn(detail: string, endpoint: string): string {
  if (detail === FAILING) return "failing";
  const [, rest] = detail.split(`exporting to ${endpoint}: `);
  return rest !== undefined && /^\d+ span\(s\) exported, \d+ batch\(es\) failed$/.test(rest)
    ? "exporting"
    : detail;
}
