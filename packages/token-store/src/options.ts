import type { Logger } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";

export const memoryTokenStoreOptions = defineOptions("createMemoryTokenStore()", {
  /**
   * Maximum number of live entries, each about 150 bytes. The last tenth is reserved for revocations, so people can still
   * sign out when the store rejects rotations. Default: 100000.
   */
  maxEntries: { kind: k.withDefault(k.integer({ min: 10, max: 16_000_000 }), 100_000) },
  /** Receives a warning, at most every 10 s, while the store is full. Default: no logger. */
  logger: { kind: k.optional(k.objectWith<Pick<Logger, "warn">>("a logger", "warn")) },
  /** Name of the readiness check. Default: `token-store`. */
  name: { kind: k.withDefault(k.string(), "token-store") },
  /** Clock in milliseconds that never goes back. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
});

/** Options of `createMemoryTokenStore()`. */
export type MemoryTokenStoreOptions = OptionsOf<typeof memoryTokenStoreOptions>;
