import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { KeySource } from "./key-source.ts";
import { own, parseToken } from "./token-parser.ts";
import { type Refused, refuse } from "./verification.ts";
import type { Verifier } from "./verifier.ts";

/**
 * Creates a verifier that passes each token to the verifier of its issuer. It chooses by the unverified `iss`, by exact match
 * and before any key is looked up. The chosen verifier has no keys of another issuer, and checks `iss` again.
 *
 * @param verifiers at least one; each requires the issuer that is its key in the map
 */
export function createIssuerVerifier(verifiers: ReadonlyMap<string, Verifier>): Verifier {
  const all = [...verifiers.values()];
  const algorithms = Object.freeze([...new Set(all.flatMap((each) => each.algorithms))]);
  const allowed: ReadonlySet<string> = new Set(algorithms);
  const { tokenUse, leewaySeconds } = all[0] as Verifier;

  function verifierFor(token: string): Verifier | Refused {
    const parsed = parseToken(token, allowed);
    if (parsed.reason !== undefined) return parsed;
    const issuer = own(parsed.claims, "iss");
    if (issuer === undefined) return refuse("claim_missing", "iss");
    if (typeof issuer !== "string") return refuse("claim_type", "iss");
    return verifiers.get(issuer) ?? refuse("issuer", "iss");
  }

  return {
    verify(token) {
      const found = verifierFor(token);
      return Object.hasOwn(found, "reason") ? (found as Refused) : (found as Verifier).verify(token);
    },
    keys: keysOfAll(verifiers),
    algorithms,
    tokenUse,
    leewaySeconds,
    get cachedTokens() {
      return all.reduce((sum, each) => sum + each.cachedTokens, 0);
    },
  };
}

/** Returns a source for the readiness check. It finds no key, because a key is only valid for its issuer. */
function keysOfAll(verifiers: ReadonlyMap<string, Verifier>): KeySource {
  const checks = [...verifiers].flatMap(([issuer, { keys }]) => {
    const check = keys.readiness?.();
    return check === undefined ? [] : [{ issuer, check }];
  });

  async function check(signal: AbortSignal): Promise<CheckResult> {
    const found = await Promise.all(
      checks.map(async ({ issuer, check }) => ({ issuer, check, result: await check.check(signal) })),
    );
    const failed = found.filter(({ result }) => !result.healthy);
    // As long as one issuer has keys, its callers are served.
    const critical =
      failed.length === verifiers.size &&
      failed.every(({ check, result }) => result.critical ?? check.critical);
    const detail = found.map(({ issuer, result }) => `${issuer}: ${result.detail}`).join("; ");
    return { healthy: failed.length === 0, critical, detail };
  }

  const readiness = (): ReadinessCheck => ({ name: "auth", critical: true, check });
  return {
    get generation() {
      return [...verifiers.values()].reduce((sum, { keys }) => sum + keys.generation, 0);
    },
    find: () => undefined,
    ...(checks.length === 0 ? {} : { readiness }),
  };
}
