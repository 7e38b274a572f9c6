import { type Cache, type CacheOptions, createCache } from "@svc/cache";
import { until } from "@svc/test-support";

/** Of a Redis that answers, or says at once that it does not: no machine that is held up lets such a time pass. */
export const PATIENT = {
  commandTimeoutMs: 15_000,
  connectTimeoutMs: 15_000,
  readinessTimeoutMs: 15_000,
} as const;

/** A cache that has set these keys, and has nothing under way. When the machine was too slow for that another one is made. */
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
