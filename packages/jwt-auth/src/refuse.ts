import type { RefusalReason, Refused } from "./verification.ts";

/** A refusal; `at` is the claim or header at fault, never its value. */
export function refuse(reason: RefusalReason, at?: string): Refused {
  return Object.freeze(at === undefined ? { reason } : { reason, at });
}
