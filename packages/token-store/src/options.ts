import type { Logger } from "@svc/context";
import { func, integer, objectWith, optional, resolveOptions, string, withDefault } from "@svc/options";

/** Options of `createMemoryTokenStore()`. */
export interface MemoryTokenStoreOptions {
  /**
   * Maximum number of live entries, each about 150 bytes. The last tenth is reserved for revocations, so people can still
   * sign out when the store rejects rotations. Default: 100000.
   */
  readonly maxEntries?: number | undefined;
  /** Receives a warning, at most every 10 s, while the store is full. Default: no logger. */
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

/** @throws ConfigurationError for unknown or invalid options */
export function resolveMemoryTokenStore(
  given: MemoryTokenStoreOptions | undefined,
): ResolvedMemoryTokenStore {
  return resolveOptions("createMemoryTokenStore()", given, kinds);
}
