import type { CheckResult, ReadinessCheck } from "@svc/context";
import { withDeadline } from "@svc/resilience";
import type { KeySource } from "./key-source.ts";
import { safeFields } from "./safe-fields.ts";
import { isObject, own, type ParsedToken, parseToken } from "./token-parser.ts";
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
    if (isRefused(parsed)) return parsed;
    const issuer = own(parsed.claims, "iss");
    if (issuer === undefined) return refuse("claim_missing", "iss");
    if (typeof issuer !== "string") return refuse("claim_type", "iss");
    return verifiers.get(issuer) ?? refuse("issuer", "iss");
  }

  return {
    verify(token) {
      const found = verifierFor(token);
      return isRefused(found) ? found : found.verify(token);
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

// Check for an own member, because a polluted prototype could supply a reason.
function isRefused(found: Verifier | ParsedToken | Refused): found is Refused {
  return Object.hasOwn(found, "reason");
}

/** Returns an issuer for a log line or `/ready`, without user-info, query and fragment, which may contain a password. */
export function shownIssuer(issuer: string): string {
  return issuer.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//");
}

interface IssuerCheck {
  readonly issuer: string;
  readonly check: ReadinessCheck;
}

/** Returns a source for the readiness check. It finds no key, because a key is only valid for its issuer. */
function keysOfAll(verifiers: ReadonlyMap<string, Verifier>): KeySource {
  const checks = [...verifiers].flatMap(([issuer, { keys }]): IssuerCheck[] => {
    const check = keys.readiness?.();
    return check === undefined ? [] : [{ issuer: shownIssuer(issuer), check }];
  });

  async function check(signal: AbortSignal): Promise<CheckResult> {
    const found = await Promise.all(
      checks.map(async (each) => ({ ...each, result: await resultOf(each.check, signal) })),
    );
    const failed = found.filter(({ result }) => !result.healthy);
    // Not critical while one issuer has keys, because its callers are still served.
    const critical =
      failed.length === verifiers.size &&
      failed.every(({ check, result }) => result.critical ?? check.critical);
    const detail = found.map(({ issuer, result }) => `${issuer}: ${result.detail}`).join("; ");
    const failures = found.flatMap(({ issuer, result: { meta } }) => {
      const failure = meta?.["lastFailure"];
      return typeof failure === "string" ? [`${issuer}: ${failure}`] : [];
    });
    const meta = failures.length === 0 ? {} : { meta: { lastFailure: failures.join("; ") } };
    return { healthy: failed.length === 0, critical, detail, ...meta };
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

// Shorter than the timeout of a check in @svc/health, which would hide the state of every issuer.
const CHECK_MS = 500;

/** Returns the result of a check. The check of an application's own source may throw, hang, or return any value. */
async function resultOf(check: ReadinessCheck, signal: AbortSignal): Promise<CheckResult> {
  try {
    const result: unknown = await withDeadline(CHECK_MS, (ends) => check.check(ends), { signal });
    if (isObject(result) && typeof result["healthy"] === "boolean")
      return { ...result, healthy: result["healthy"], detail: textOf(result["detail"]) };
    return { healthy: false, detail: "the check must return an object with a boolean healthy" };
  } catch (error) {
    const { error: name = "unknown error" } = safeFields(error);
    return { healthy: false, detail: `the check failed (${name})` };
  }
}

function textOf(detail: unknown): string {
  return typeof detail === "string" ? detail : "no detail";
}
