import { type Cache, type CacheOptions, createCache } from "@svc/cache";
import { until } from "@svc/test-support";

/** Deadlines for a Redis that answers or fails at once, longer than any pause of a busy machine. */
export const PATIENT = {
  commandTimeoutMs: 15_000,
  connectTimeoutMs: 15_000,
  readinessTimeoutMs: 15_000,
} as const;

/** Returns a cache that has set these keys and is idle. Tries again with another cache when the machine was too slow. */
export function warmCache(options: CacheOptions, keys: readonly string[] = ["kept"]): Promise<Cache> {
  return until("it is connected, and all is quiet", async () => {
    const cache = createCache(options);
    const set = await Promise.allSettled(keys.map((key) => cache.set(key, "value", 60)));
    const { healthy, meta } = await cache.readiness().check(AbortSignal.timeout(5000));
    const isQuiet = healthy && cache.state === "closed" && meta?.["in_flight"] === 0;
    if (isQuiet && set.every(({ status }) => status === "fulfilled")) return cache;
    await cache.stop();
    return undefined;
  });
}
