import { type Cache, type CacheOptions, createCache } from "@svc/cache";
import { until } from "@svc/test-support";

/** Deadlines that are longer than any stall of a busy machine, for tests in which Redis replies or fails immediately. */
export const PATIENT = {
  commandTimeoutMs: 15_000,
  connectTimeoutMs: 15_000,
  readinessTimeoutMs: 15_000,
} as const;

/**
 * Returns an idle cache that has set these keys. Retries with a new cache when the machine was too slow for the
 * deadlines.
 */
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
