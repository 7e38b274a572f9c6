import type { RefusalReason, Refused } from "./verification.ts";

/** Creates a refusal. `at` is the name of the claim or header at fault, never its value. */
export function refuse(reason: RefusalReason, at?: string): Refused {
  return Object.freeze(at === undefined ? { reason } : { reason, at });
}
