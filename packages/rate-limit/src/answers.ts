import { type ProblemError, serviceUnavailable, tooManyRequests } from "@svc/problem";
import type { ServerResponse } from "node:http";
import { type Bucket, MICRO, secondsToGain, type Taken } from "./bucket.ts";

/** Returns the number of whole tokens in a bucket. */
export function remainingOf({ microTokens }: Taken): number {
  return Math.floor(microTokens / MICRO);
}

function resetSeconds(bucket: Bucket, { microTokens }: Taken): number {
  return Math.ceil(secondsToGain(bucket.burst * MICRO - microTokens, bucket));
}

/** Sets the headers of an admitted request. */
export function setLimitHeaders(res: ServerResponse, bucket: Bucket, taken: Taken): void {
  if (res.headersSent) return;
  res.setHeader("RateLimit-Limit", String(bucket.limit));
  res.setHeader("RateLimit-Remaining", String(remainingOf(taken)));
  res.setHeader("RateLimit-Reset", String(resetSeconds(bucket, taken)));
}

/** Returns the 429 of a request that needs more tokens than the bucket has (RATE-1, RATE-2, ERR-20). */
export function limitExceeded(bucket: Bucket, taken: Taken, cost: number): ProblemError {
  const { limit, windowSeconds } = bucket;
  return tooManyRequests({
    limit,
    remaining: remainingOf(taken),
    retryAfterSeconds: secondsToGain(cost * MICRO - taken.microTokens, bucket),
    resetSeconds: resetSeconds(bucket, taken),
    detail: `Rate limit of ${limit} request(s) per ${windowSeconds}s exceeded.`,
  });
}

/** Returns the 503 of a request that may pass only if the store responds. */
export function storeUnavailable(retryAfterMs: number): ProblemError {
  return serviceUnavailable("the rate limit cannot be checked", { retryAfterSeconds: retryAfterMs / 1000 });
}
