import type { Logger } from "@svc/context";
import { fault, type Fault, kinds as k, type ResolvedOptions } from "@svc/options";

export const milliseconds: k.Kind<number> = k.number({ min: 10, max: 86_400_000 });

/** Options that every bus of this package takes; each broker adds its own. */
export const busEntries = {
  /** Milliseconds that publishing and starting a consumption may take. Default: 5,000. */
  timeoutMs: { kind: k.withDefault(milliseconds, 5000) },
  /** Messages that a consumption fetches in advance. Default: 32, or its concurrency if that is higher. */
  prefetch: { kind: k.withDefault(k.integer({ min: 1, max: 10_000 }), 32) },
  /** Where a new group starts: with the oldest stored message or with the next one published. Default: `oldest`. */
  startFrom: { kind: k.withDefault(k.oneOf("oldest", "newest"), "oldest") },
  /** Milliseconds to pause after a handler's first rejection; doubles with each further one. Default: 200. */
  retryBaseMs: { kind: k.withDefault(milliseconds, 200) },
  /** The longest pause after a rejection, in milliseconds. Default: 30,000. */
  retryMaxMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Milliseconds that `stop()` and `close()` wait for running handlers. Default: 30,000. */
  stopTimeoutMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Reports lost and restored connections; a logger given to `consume` takes precedence. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error")) },
};

/** The options that the base of all buses uses, with all defaults applied. */
export type ResolvedBus = ResolvedOptions<typeof busEntries> & { readonly maxBodyBytes: number };

/** Returns a fault when the longest pause is shorter than the first. */
export function faultsOfPauses(
  { retryBaseMs, retryMaxMs }: Pick<ResolvedBus, "retryBaseMs" | "retryMaxMs">,
  name: (option: "retryBaseMs") => string,
): readonly Fault[] {
  if (retryMaxMs >= retryBaseMs) return [];
  return [fault("retryMaxMs", `must not be less than ${name("retryBaseMs")}`)];
}
