import { build, type Histogram } from "hdr-histogram-js";
import { type FailureKind, kindOf } from "./failure-kinds.ts";
import type { Latency } from "./report.ts";

/** One hour in microseconds, the largest latency that the histogram distinguishes. */
const LONGEST_US = 3_600_000_000;
/** Maximum number of unsent requests to record one by one. A larger backlog is recorded in groups. */
const MOST_UNSENT_RECORDS = 100_000;

/** The counts of a step so far. */
export interface Tally {
  /** Latencies in microseconds, with three significant digits. */
  readonly latencies: Histogram;
  /** Number of responses by status code. */
  readonly statuses: Int32Array;
  readonly failures: Record<FailureKind, number>;
  /** Responses that arrived in the measured seconds, including those to requests of the warm-up. */
  answers: number;
  unsent: number;
}

export function emptyTally(): Tally {
  return {
    latencies: build({
      useWebAssembly: false,
      bitBucketSize: 32,
      autoResize: false,
      highestTrackableValue: LONGEST_US,
    }),
    statuses: new Int32Array(1000),
    failures: { refused: 0, reset: 0, timeout: 0, badAnswer: 0 },
    answers: 0,
    unsent: 0,
  };
}

/**
 * Records the end of a request.
 *
 * @param ms its latency in milliseconds
 * @param status the status of the response, if there is no error
 */
export function recordEnd(tally: Tally, ms: number, status: number, error: Error | undefined): void {
  if (error === undefined) {
    tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    tally.latencies.recordValue(toMicroseconds(ms));
    return;
  }
  const kind = kindOf(error);
  tally.failures[kind]++;
  // Other failures have no response whose latency could count.
  if (kind === "timeout") tally.latencies.recordValue(toMicroseconds(ms));
}

/**
 * Records the requests of the open loop that were not sent: each of them has waited at least until the end.
 *
 * @param first when the first of them was due, in milliseconds
 * @param gapMs time between two requests in milliseconds
 */
export function recordUnsent(tally: Tally, first: number, until: number, gapMs: number): void {
  tally.unsent = Math.max(Math.ceil((until - first) / gapMs), 0);
  const group = Math.ceil(tally.unsent / MOST_UNSENT_RECORDS);
  for (let at = 0; at < tally.unsent; at += group) {
    const waitedMs = until - first - at * gapMs;
    tally.latencies.recordValueWithCount(toMicroseconds(waitedMs), Math.min(group, tally.unsent - at));
  }
}

export function latencyOf({ latencies }: Tally): Latency {
  if (latencies.totalCount === 0) return { p50: 0, p95: 0, p99: 0, max: 0 };
  const max = latencies.maxValue;
  // The histogram returns the upper end of a percentile's bucket, which may exceed the largest value.
  const at = (percentile: number): number => Math.min(latencies.getValueAtPercentile(percentile), max);
  return { p50: at(50), p95: at(95), p99: at(99), max };
}

function toMicroseconds(ms: number): number {
  return Math.min(Math.max(Math.round(ms * 1000), 0), LONGEST_US);
}
