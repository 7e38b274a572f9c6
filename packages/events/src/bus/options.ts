import type { Logger } from "@svc/context";
import { fault, type Fault, kinds as k, type ResolvedOptions } from "@svc/options";

export const milliseconds: k.Kind<number> = k.number({ min: 10, max: 86_400_000 });

/** Options common to all buses in this package; each broker adds its own. */
export const busEntries = {
  /** Time limit for publishing and for starting a subscription, in milliseconds. Default: 5,000. */
  timeoutMs: { kind: k.withDefault(milliseconds, 5000) },
  /** Number of messages that a subscription fetches in advance. Default: 32, or its concurrency if that is higher. */
  prefetch: { kind: k.withDefault(k.integer({ min: 1, max: 10_000 }), 32) },
  /** Where a new group starts: at the oldest stored message or at the next published one. Default: `oldest`. */
  startFrom: { kind: k.withDefault(k.oneOf("oldest", "newest"), "oldest") },
  /**
   * Milliseconds to pause after a handler's first rejection; the pause doubles after each further rejection. Default:
   * 200.
   */
  retryBaseMs: { kind: k.withDefault(milliseconds, 200) },
  /** Longest pause after a rejection, in milliseconds. Default: 30,000. */
  retryMaxMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Milliseconds that `stop()` and `close()` wait for running handlers. Default: 30,000. */
  stopTimeoutMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Logger for lost and restored connections; a logger passed to `consume` takes precedence. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error")) },
};

/** The options common to all buses, with all defaults applied. */
export type ResolvedBus = ResolvedOptions<typeof busEntries> & { readonly maxBodyBytes: number };

/** Returns a fault if the longest pause is shorter than the first one. */
export function faultsOfPauses(
  { retryBaseMs, retryMaxMs }: Pick<ResolvedBus, "retryBaseMs" | "retryMaxMs">,
  name: (option: "retryBaseMs") => string,
): readonly Fault[] {
  if (retryMaxMs >= retryBaseMs) return [];
  return [fault("retryMaxMs", `must not be less than ${name("retryBaseMs")}`)];
}
