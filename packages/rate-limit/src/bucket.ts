/** Limit, window and burst of a token bucket. It is full at first, and gains `limit` tokens per window up to `burst`. */
export interface Bucket {
  readonly limit: number;
  readonly windowSeconds: number;
  readonly burst: number;
}

/** The outcome of one atomic step of a store. */
export interface Taken {
  /** Whether the bucket had enough tokens. If not, the step took none. */
  readonly isAdmitted: boolean;
  /** Tokens in the bucket after the step, in millionths. */
  readonly microTokens: number;
}

/** Counts requests. A store that knows the result immediately returns a value, any other store a promise. */
export interface RateLimitStore {
  /**
   * Takes `cost` tokens from the bucket of a key, in one atomic step, or none if the bucket has fewer.
   *
   * @param cost at most the bucket's burst
   */
  take(key: string, bucket: Bucket, cost: number): Taken | Promise<Taken>;
}

/** Micro-tokens per token: stores count whole numbers, because fractions of tokens add up to an error. */
export const MICRO = 1_000_000;

/** Returns the seconds that a bucket needs to gain an amount of micro-tokens. */
export function secondsToGain(microTokens: number, { limit, windowSeconds }: Bucket): number {
  return (Math.max(0, microTokens) * windowSeconds) / limit / MICRO;
}

/** Returns the lifetime of a bucket in a store in seconds: when it ends, the bucket is full again. */
export function lifetimeSeconds(bucket: Bucket): number {
  return Math.ceil(secondsToGain(bucket.burst * MICRO, bucket)) + 1;
}
