import { withDeadline } from "@svc/resilience";

/** The parts of `createService()`'s options that this file reads; possibly invalid. */
interface Given {
  readonly database?: { readonly pool?: Pool; readonly closePool?: unknown } | null;
  readonly cache?: { readonly client?: Client; readonly closeClient?: unknown } | null;
  readonly metrics?: { readonly registry?: Registry } | null;
}

/**
 * Returns a function to call when `createService()` rejects. It closes the pool and the client that the service was to close: they
 * may not have reached a plugin, and would keep the process alive. It also removes the metrics that were added to the application's
 * registry since, so that another service can use it. Never rejects.
 *
 * @param options the options of `createService()`, possibly invalid
 * @param timeoutMs time limit for the pool, in milliseconds
 */
export function closeOwnLater(options: object | undefined, timeoutMs: number): () => Promise<void> {
  const { database, cache, metrics } = (options ?? {}) as Given;
  const before = new Set(namesIn(metrics?.registry));
  return async function closeOwn() {
    for (const name of namesIn(metrics?.registry)) {
      if (!before.has(name)) metrics?.registry?.removeSingleMetric(name);
    }
    try {
      const client = cache?.closeClient === true ? cache.client : undefined;
      if (client?.status !== "end") client?.disconnect();
      const pool = database?.closePool === true ? database.pool : undefined;
      if (pool?.ending === false) await withDeadline(timeoutMs, async () => pool.end());
    } catch {
      // The error of createService() matters more.
    }
  };
}

/** Returns the names of the metrics in a registry; none for a value that is not a registry. */
function namesIn(registry: Registry | undefined): readonly string[] {
  try {
    return registry?.getMetricsAsArray().map(({ name }) => name) ?? [];
  } catch {
    return [];
  }
}

interface Registry {
  getMetricsAsArray(): readonly { readonly name: string }[];
  removeSingleMetric(name: string): void;
}

interface Pool {
  readonly ending: boolean;
  end(): Promise<void>;
}

interface Client {
  readonly status: string;
  disconnect(): void;
}
