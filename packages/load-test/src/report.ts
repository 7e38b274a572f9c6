/** The result of a load test. */
export interface LoadReport {
  /** Base URL of the service. */
  readonly url: string;
  /** When the run began, in ISO 8601. */
  readonly startedAt: string;
  /** `closed`: each client sends as soon as it has a response; `open`: requests are due at a fixed rate. */
  readonly loop: "closed" | "open";
  /** Requests per second of the open loop. */
  readonly rate: number | null;
  readonly secondsPerStep: number;
  readonly warmUpSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxP99Ms: number;
  readonly maxErrorRate: number;
  /** The loaded routes, for example `GET /expenses/{id}`. */
  readonly routes: readonly string[];
  readonly skipped: readonly Skipped[];
  /** Why the run had no description, if it loads literal paths only. */
  readonly withoutDescription: string | null;
  readonly steps: readonly StepReport[];
  /** Clients of the step after which more clients added less than 10 % throughput (LOAD-4). */
  readonly saturatedAt: number | null;
  /** Clients of the first step that broke (LOAD-3). */
  readonly brokeAt: number | null;
  /** Whether the run was ended before its last step was complete. */
  readonly isInterrupted: boolean;
}

/** A route of the description that is not loaded. */
export interface Skipped {
  /** For example `GET /expenses/{id}`. */
  readonly route: string;
  /** For example `path parameter id has no example, default or enum`. */
  readonly reason: string;
}

/** The result of one step. */
export interface StepReport {
  readonly clients: number;
  readonly loop: "closed" | "open";
  /** Measured seconds, without the warm-up. */
  readonly seconds: number;
  /** Requests that began in these seconds and have ended. */
  readonly requests: number;
  /** Responses that arrived in these seconds, per second. */
  readonly requestsPerSecond: number;
  readonly latencyUs: Latency;
  /** Number of responses by status code. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of responses with a 2xx status. */
  readonly successes: number;
  /** Number of responses with another status, of which 5xx and 429 are errors too (LOAD-6). */
  readonly others: number;
  readonly errors: Errors;
  /** Share of errors in percent of the requests. */
  readonly errorRate: number;
  /** Requests of the open loop that were due but not sent, because every client was waiting for a response. */
  readonly unsent: number;
  /** CPU time of the load test itself in percent of one CPU. */
  readonly generatorCpu: number;
  readonly readiness: Readiness | null;
  /** Why the step broke; empty if it did not. */
  readonly broken: readonly string[];
  readonly isInterrupted: boolean;
}

/** Latencies in microseconds, of responses and of requests that timed out. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Number of errors by kind (LOAD-6). */
export interface Errors {
  readonly serverErrors: number;
  readonly tooManyRequests: number;
  /** The client could not connect. */
  readonly refused: number;
  /** The connection ended before the response was complete. */
  readonly reset: number;
  readonly timeout: number;
  /** The response was not valid HTTP. */
  readonly badAnswer: number;
}

/** The result of `/ready` after a step (LOAD-5). */
export interface Readiness {
  /** Why there are no checks to report, for example `GET /ready answered 404`. */
  readonly failure: string | null;
  /** The checks that are not ok. */
  readonly notOk: readonly Check[];
}

/** A check of `/ready` that is not ok. */
export interface Check {
  readonly name: string;
  readonly detail: string;
  readonly isCritical: boolean;
}
