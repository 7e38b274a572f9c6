import { quantile } from "../harness/report.ts";

/** The text in `/ready` from a failed batch until one succeeds (TRACE-23). */
export const FAILING = "span export failing; spans are being dropped";
/** How many spans the queue holds, and a batch. */
export const QUEUE = 2048;
export const BATCH = 512;
/** The most spans that are neither exported nor dropped: a full queue, and the batch that is being exported. */
export const MOST_QUEUED = QUEUE + BATCH;
/** The highest p50 during a fault, as a multiple of the mean p50 of the healthy rounds around it. */
const MOST_P50 = 1.05;
/** The least spread of p99 between healthy rounds, as a share of the higher one: two rounds may be equal by chance. */
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
 * Returns the highest permitted latencies during a fault between two healthy rounds: 105 % of their mean p50, and the
 * higher p99 plus their spread.
 */
export function limitsOf(before: Latency, after: Latency): Latency {
  const higher = Math.max(before.p99, after.p99);
  const spread = Math.max(Math.abs(before.p99 - after.p99), LEAST_SPREAD * higher);
  return { p50: (MOST_P50 * (before.p50 + after.p50)) / 2, p99: higher + spread };
}

/** Returns what `/ready` reports of the export: `failing`, `exporting` or an unexpected text. */
export function stateIn(detail: string, endpoint: string): string {
  if (detail === FAILING) return "failing";
  const [, rest] = detail.split(`exporting to ${endpoint}: `);
  return rest !== undefined && /^\d+ span\(s\) exported, \d+ batch\(es\) failed$/.test(rest)
    ? "exporting"
    : detail;
}
