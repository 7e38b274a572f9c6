/** The measurements of a load generator in one run. */
export interface Reading {
  readonly requestsPerSecond: number;
  /** CPU time of the generator's process for one request, in microseconds. */
  readonly cpuUs: number;
  /** Latencies in milliseconds; undefined if the generator does not report them. */
  readonly p50Ms?: number | undefined;
  readonly p95Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
}

/** The settings of a run. */
export interface Effort {
  readonly url: string;
  readonly clients: number;
  readonly seconds: number;
  /** Requests per second of an open loop. Default: a closed loop. */
  readonly rate?: number | undefined;
}
