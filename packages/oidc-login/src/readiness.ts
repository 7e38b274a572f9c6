import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { KeySource } from "@svc/jwt-auth";

/** The keys of each provider; undefined before its first sign-in, null for a provider without ID tokens. */
export type KeysOf = ReadonlyMap<string, () => KeySource | undefined | null>;

/**
 * Makes the check `oidc-login`, with one line for the keys of all providers. It only reads the state and never fetches. It
 * is never critical, because people who are signed in do not need a provider.
 */
export function loginReadiness(keysOf: KeysOf): ReadinessCheck {
  return {
    name: "oidc-login",
    critical: false,
    async check(signal) {
      const lines = await Promise.all(
        [...keysOf].map(async ([name, keys]) => ({ name, ...(await stateOf(keys(), signal)) })),
      );
      return {
        healthy: lines.every((each) => each.healthy),
        critical: false,
        detail: lines.map((each) => `${each.name}: ${each.detail}`).join("; "),
      };
    },
  };
}

function stateOf(
  keys: KeySource | undefined | null,
  signal: AbortSignal,
): CheckResult | Promise<CheckResult> {
  if (keys === null) return { healthy: true, detail: "needs no keys" };
  if (keys === undefined) return { healthy: true, detail: "no sign-in yet" };
  return keys.readiness?.().check(signal) ?? { healthy: true, detail: "the keys are at hand" };
}
