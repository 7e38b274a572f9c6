/** The number of requests in which each latency of the distribution occurs once. */
const CYCLE = 1000;
/** Share of the slow requests, and their latency. */
const SLOW_SHARE = 0.02;
const SLOW_MS = 80;
const FASTEST_MS = 20;
const SLOWEST_FAST_MS = 40;

export interface Percentiles {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** The percentiles of the known server on a machine without other work. */
export const knownPercentiles: Percentiles = {
  p50Ms: latencyAt(0.5),
  p95Ms: latencyAt(0.95),
  p99Ms: latencyAt(0.99),
};

/**
 * Returns the latency of a request by its number: 2 % take 80 ms, the others are spread evenly from 20 to 40 ms. A step of
 * 617 visits all latencies of a cycle, and separates slow requests from each other.
 */
export function latencyOf(request: number): number {
  return latencyAt((((request * 617) % CYCLE) + 0.5) / CYCLE);
}

/** Returns the latency that the given share of the requests does not exceed. */
function latencyAt(share: number): number {
  const fast = 1 - SLOW_SHARE;
  return share > fast ? SLOW_MS : FASTEST_MS + (share / fast) * (SLOWEST_FAST_MS - FASTEST_MS);
}
