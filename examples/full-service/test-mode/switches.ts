import type { ReadinessCheck } from "@svc/context";
import type { RateLimitStore } from "@svc/rate-limit";
import type { RefreshHook } from "@svc/token-issuer";
import type { TokenStore } from "@svc/token-store";

/** The states of the refresh hook; `restore` is the hook of the example. */
export const hookStates = ["decline", "fail", "grant", "restore"] as const;

/** State that requests to the test mode change. All replicas of a process share it. */
export interface Switches {
  /** Names of the failing checks. */
  readonly broken: Set<string>;
  hook: (typeof hookStates)[number];
  storeIsOut: boolean;
  limitsAreOut: boolean;
}

export function newSwitches(): Switches {
  return { broken: new Set(), hook: "restore", storeIsOut: false, limitsAreOut: false };
}

/** The dependencies that the test mode can break, one for each way in which a check can fail. */
export const dependencies = [
  { check: "ledger", critical: true, fault: "fails" },
  { check: "vault", critical: true, fault: "throws" },
  { check: "rates", critical: false, fault: "throws" },
  { check: "maps", critical: false, fault: "hangs" },
  { check: "mail", critical: false, fault: "hangs" },
] as const;

/** This time exceeds the time limit of a readiness check. */
const hangMs = 3000;

export function switchedChecks({ broken }: Switches): readonly ReadinessCheck[] {
  return dependencies.map(({ check: name, critical, fault }) => ({
    name,
    critical,
    async check() {
      if (!broken.has(name)) return { healthy: true, detail: "answers" };
      if (fault === "throws") throw new TypeError(`postgres://user:password@${name}.example refused`);
      if (fault === "hangs") await new Promise((resolve) => setTimeout(resolve, hangMs).unref());
      return { healthy: false, detail: "does not answer" };
    },
  }));
}

/** Returns a token store that can be switched off. */
export function switchedStore(store: TokenStore, switches: Switches): TokenStore {
  const reached = (): TokenStore => {
    if (switches.storeIsOut) throw new Error("the token store is switched off");
    return store;
  };
  return {
    shared: true,
    isRevoked: async (token) => reached().isRevoked(token),
    revoke: async (jti, ttlSeconds) => reached().revoke(jti, ttlSeconds),
    revokeFamily: async (fam, ttlSeconds) => reached().revokeFamily(fam, ttlSeconds),
    revokeSubject: async (sub, notBefore, ttlSeconds) => reached().revokeSubject(sub, notBefore, ttlSeconds),
    rotate: async (rotation) => reached().rotate(rotation),
  };
}

/** Returns a store of rate limits that can be switched off. */
export function switchedLimits(store: RateLimitStore, switches: Switches): RateLimitStore {
  return {
    take(...given) {
      if (switches.limitsAreOut) throw new Error("the store of the rate limits is switched off");
      return store.take(...given);
    },
  };
}

/** The scopes that a refresh grants in the state `grant`. */
export const grantedScopes: readonly string[] = ["expenses:read"];

export function switchedHook(hook: RefreshHook, switches: Switches): RefreshHook {
  return async function onRefresh(principal, signal) {
    switch (switches.hook) {
      case "decline":
        return undefined;
      case "fail":
        throw new Error("the users cannot be read");
      case "grant":
        return { scopes: grantedScopes };
      default:
        return hook(principal, signal);
    }
  };
}
