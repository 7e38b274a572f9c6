import { ProblemError } from "./problem-error.ts";
import type { ReadyOptions } from "./problems.ts";

/** The state of a rate limit that the caller has exceeded. */
export interface ExceededLimit {
  /** Requests allowed per window. */
  readonly limit: number;
  /** Remaining requests. Default: 0. */
  readonly remaining?: number | undefined;
  /** Seconds until a request is allowed again; sent as a whole number of at least 1. */
  readonly retryAfterSeconds: number;
  /** Seconds until the whole limit is available again. Default: `retryAfterSeconds`. */
  readonly resetSeconds?: number | undefined;
  /** Default: `rate limit exceeded`. */
  readonly detail?: string | undefined;
}

/** 429 with `Retry-After` and `RateLimit-*` headers, and with `limit`, `remaining` and `retry_after` as members. */
export function tooManyRequests(exceeded: ExceededLimit, options?: ReadyOptions): ProblemError {
  const { limit, remaining = 0, retryAfterSeconds, resetSeconds = retryAfterSeconds } = exceeded;
  const { detail = "rate limit exceeded" } = exceeded;
  const retryAfter = wholeSeconds(retryAfterSeconds);
  return new ProblemError(429, detail, {
    ...options,
    headers: {
      "RateLimit-Limit": String(limit),
      "RateLimit-Remaining": String(remaining),
      "RateLimit-Reset": String(wholeSeconds(resetSeconds)),
      "Retry-After": String(retryAfter),
      ...options?.headers,
    },
    extensions: { limit, remaining, retry_after: retryAfter, ...options?.extensions },
  });
}

/** Problem options with the time after which a client may retry. */
export interface RetryOptions extends ReadyOptions {
  /** Sent as `Retry-After`, as a whole number of at least 1. Default: no `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
}

/** 503. */
export function serviceUnavailable(detail?: string, options: RetryOptions = {}): ProblemError {
  const { retryAfterSeconds, ...rest } = options;
  if (retryAfterSeconds === undefined) return new ProblemError(503, detail, rest);
  const headers = { "Retry-After": String(wholeSeconds(retryAfterSeconds)), ...rest.headers };
  return new ProblemError(503, detail, { ...rest, headers });
}

function wholeSeconds(seconds: number): number {
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : 1;
}
