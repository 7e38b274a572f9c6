import type { Cache } from "@svc/cache";
import type { RateLimitStore } from "@svc/rate-limit";

/** Returns a store with the fault of a variant; undefined if the variant has none. */
export function brokenLimitStore(variant: string, redis: Cache["redis"]): RateLimitStore | undefined {
  if (variant === "broken-two-steps") return inTwoSteps(redis);
  if (variant === "broken-fixed-window") return inFixedWindows(redis);
  return undefined;
}

/** Reads a bucket and writes it in a second step. Between the steps, other requests read the same tokens. */
function inTwoSteps(redis: Cache["redis"]): RateLimitStore {
  return {
    async take(key, { limit, windowSeconds, burst }, cost) {
      const now = Date.now();
      const stored = (await redis.call("get", key)) as string | null;
      const [tokens = burst, at = now] = stored?.split(" ").map(Number) ?? [];
      const level = Math.min(burst, tokens + ((now - at) / 1000) * (limit / windowSeconds));
      if (level < cost) return { isAdmitted: false, microTokens: Math.floor(level * 1e6) };
      await redis.call("set", key, `${level - cost} ${now}`, "EX", 60);
      return { isAdmitted: true, microTokens: Math.floor((level - cost) * 1e6) };
    },
  };
}

const WINDOW = `
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return count
`;

/**
 * Counts in windows that begin with a request, so that the end of one window and the beginning of the next admit twice the
 * limit.
 */
function inFixedWindows(redis: Cache["redis"]): RateLimitStore {
  return {
    async take(key, { limit, windowSeconds }, cost) {
      const count = Number(await redis.eval(WINDOW, 1, key, cost, windowSeconds));
      return { isAdmitted: count <= limit, microTokens: Math.max(0, limit - count) * 1e6 };
    },
  };
}
