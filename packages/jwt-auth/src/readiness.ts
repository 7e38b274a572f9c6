import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { KeySource } from "./key-source.ts";
import type { RevocationGates } from "./revocation-gates.ts";

/**
 * Creates the readiness check `auth`, which reports the known state of the keys and of the revocation store. It never
 * fetches or waits. It is critical only when the check of the key source is critical, because then no token can be
 * verified (RDY-11, RDY-14).
 */
export function authReadiness(
  keys: KeySource,
  gates: Pick<RevocationGates, "silent">,
  failOpen: boolean,
): ReadinessCheck {
  const source = keys.readiness?.();
  return {
    name: "auth",
    critical: source?.critical ?? false,
    check(signal) {
      const found = source?.check(signal) ?? { healthy: true, detail: "the keys are configured" };
      return found instanceof Promise ? found.then(combined) : combined(found);
    },
  };

  function combined(ofKeys: CheckResult): CheckResult {
    const critical = !ofKeys.healthy && (ofKeys.critical ?? source?.critical ?? false);
    const { silent } = gates;
    if (silent === undefined) return { ...ofKeys, critical };
    const consequence = failOpen
      ? "tokens are accepted without the check"
      : "requests with a valid token get a 503";
    const detail = `${ofKeys.detail}; ${silent} is not answering: ${consequence}`;
    return { ...ofKeys, healthy: false, critical, detail };
  }
}
