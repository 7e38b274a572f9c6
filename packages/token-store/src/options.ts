import type { Logger } from "@svc/context";
import { func, integer, objectWith, optional, resolveOptions, string, withDefault } from "@svc/options";

/** Options of `createMemoryTokenStore()`. */
export interface MemoryTokenStoreOptions {
  /**
   * How many entries may be alive at once, each some 150 bytes. The last tenth is kept for revocations, so that people
   * can still sign out of a store that takes no more rotations. Default: 100000.
   */
  readonly maxEntries?: number | undefined;
  /** Told, every 10 s at most, that the store is full. Default: nobody is. */
  readonly logger?: Pick<Logger, "warn"> | undefined;
  /** Name of the readiness check. Default: `token-store`. */
  readonly name?: string | undefined;
  /** Clock in milliseconds that never goes back. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

const kinds = {
  maxEntries: withDefault(integer({ min: 10, max: 16_000_000 }), 100_000),
  logger: optional(objectWith<Pick<Logger, "warn">>("a logger", "warn")),
  name: withDefault(string(), "token-store"),
  now: withDefault(func<() => number>(), () => performance.now()),
};

/** The options with their defaults filled in. */
export interface ResolvedMemoryTokenStore {
  readonly maxEntries: number;
  readonly logger: Pick<Logger, "warn"> | undefined;
  readonly name: string;
  readonly now: () => number;
}

/** @throws ConfigurationError for unknown or wrong options */
export function resolveMemoryTokenStore(
  given: MemoryTokenStoreOptions | undefined,
): ResolvedMemoryTokenStore {
  return resolveOptions("createMemoryTokenStore()", given, kinds);
}
