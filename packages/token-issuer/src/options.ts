import type { Logger, TokenStore } from "@svc/context";
import { defineOptions, fault, kinds as k, type OptionsOf } from "@svc/options";
import type { IssuerEvent } from "./events.ts";
import type { KeyRing } from "./key-ring.ts";
import type { RefreshHook } from "./refresh-hook.ts";

const DAY_SECONDS = 86_400;

/** The claims with fixed names (ISS-10). `__proto__` is reserved too, since JSON readers may drop it. */
const FIXED_CLAIMS: readonly string[] = [
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "typ",
  "fam",
  "grt",
  "auth_time",
  "__proto__",
];

const CLAIM_OPTIONS = ["scopeClaim", "rolesClaim", "tenantClaim"] as const;

/** The lifetimes that a ring limits: name of the option, key of `Lifetimes`, seconds per unit, and unit. */
const LIFETIMES = [
  ["accessLifetimeMinutes", "accessSeconds", 60, "minutes"],
  ["refreshLifetimeDays", "refreshSeconds", DAY_SECONDS, "days"],
  ["leewaySeconds", "leewaySeconds", 1, "seconds"],
] as const;

/** The fault reported for a store that is not shared by all replicas (ISS-16). */
const NOT_SHARED =
  "must be shared by all replicas in prod: otherwise a sign-out ends sessions on one replica only; " +
  "use a store in Redis or PostgreSQL (your own store must have shared: true)";

/** The fault reported for an application's own key ring that is incomplete. */
const NO_LIFETIMES =
  "must be a key ring with lifetimes: { accessSeconds, refreshSeconds, leewaySeconds } in seconds";

const anyText = k.string({ allowEmpty: true });
const wait = k.number({ min: 0.05, max: 60 });

export const tokenIssuerOptions = defineOptions("createTokenIssuer()", {
  /** The signing keys, which also verify refresh tokens. Required. */
  keys: { kind: k.objectWith<KeyRing>("a key ring", "find", "signer", "jwks") },
  /** Remembers revoked and used tokens. In `prod` it must be shared by all replicas (ISS-16). Required. */
  store: {
    kind: k.objectWith<TokenStore>(
      "a token store",
      "isRevoked",
      "revoke",
      "revokeFamily",
      "revokeSubject",
      "rotate",
    ),
  },
  /** Value of the `iss` claim, also required in refresh tokens. Default: none. */
  issuer: { kind: k.withDefault(anyText, "") },
  /** Value of the `aud` claim: one or several names; a refresh token must have at least one of them. Default: none. */
  audience: { kind: k.withDefault(k.either(anyText, k.listOf(k.string())), "") },
  /** The claim that lists scopes. Default: `scope`. */
  scopeClaim: { kind: k.withDefault(k.string(), "scope") },
  /** The claim that lists roles. Default: `roles`. */
  rolesClaim: { kind: k.withDefault(k.string(), "roles") },
  /** The claim that names the tenant. Default: `tenant_id`. */
  tenantClaim: { kind: k.withDefault(k.string(), "tenant_id") },
  /** Lifetime of an access token, 1 to 1,440 minutes (ISS-4). Default: 15. */
  accessLifetimeMinutes: {
    key: "access_lifetime_minutes",
    kind: k.withDefault(k.number({ min: 1, max: 1440 }), 15),
  },
  /** Lifetime of a refresh token, 1 to 3,650 days, counted from each rotation (ISS-4). Default: 30. */
  refreshLifetimeDays: {
    key: "refresh_lifetime_days",
    kind: k.withDefault(k.number({ min: 1, max: 3650 }), 30),
  },
  /**
   * Seconds during which another use of a rotated refresh token is rejected without ending the session, 0 (strict) to
   * 300 (REF-14). Default: 10.
   */
  refreshGraceSeconds: {
    key: "refresh_grace_seconds",
    kind: k.withDefault(k.number({ min: 0, max: 300 }), 10),
  },
  /** Days from the sign-in until a session and all its tokens end, 0 (never) to 3,650 (REF-15). Default: 0. */
  sessionLifetimeDays: {
    key: "session_lifetime_days",
    kind: k.withDefault(k.number({ min: 0, max: 3650 }), 0),
  },
  /** Leeway on the dates of refresh tokens in seconds, 0 to 3,600; use the same value for the verifiers. Default: 30. */
  leewaySeconds: { kind: k.withDefault(k.number({ min: 0, max: 3600 }), 30) },
  /**
   * Called at every refresh (REF-9). Returns a `Grant` with what the session may do from now on, or undefined to end
   * the session. Default: none; the session keeps its scopes.
   */
  onRefresh: { kind: k.optional(k.func<RefreshHook>()) },
  /** Time limit of the hook, 0.05 to 60 seconds. Default: 5. */
  hookTimeoutSeconds: { kind: k.withDefault(wait, 5) },
  /** Time limit of one store call, 0.05 to 60 seconds. Default: 1. */
  storeTimeoutSeconds: { kind: k.withDefault(wait, 1) },
  /** Where the service runs; the strict rules hold in `prod`. Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Logs outside of requests, and in requests whose context has no logger. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")) },
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  now: { kind: k.wallClock },
  /** Receives changes of sessions, for metrics or an audit log. Its errors are ignored. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: IssuerEvent) => void>()) },
}).withCheck(function* (options) {
  const taken = new Set(FIXED_CLAIMS);
  for (const key of CLAIM_OPTIONS) {
    const name = options[key];
    if (taken.has(name))
      yield fault(
        key,
        `must not be ${name}: tokens already have a claim with this name; choose another name`,
      );
    taken.add(name);
  }
  const { env, store, keys } = options;
  if (env === "prod" && store.shared !== true) yield fault("store", NOT_SHARED);
  // Sign-ins and sign-outs must be dated by one clock (REV-10).
  if ((store.signInTime === undefined) !== (store.revokeSubjectNow === undefined))
    yield fault("store", "must have both signInTime() and revokeSubjectNow(), or neither");
  const { lifetimes } = keys as Partial<KeyRing>;
  if (LIFETIMES.some(([, lifetime]) => typeof lifetimes?.[lifetime] !== "number")) {
    yield fault("keys", NO_LIFETIMES);
    return;
  }
  // A ring keeps a replaced key only for its own lifetimes, so the issuer's tokens must not live longer.
  const own = secondsOf(options);
  for (const [key, lifetime, seconds, unit] of LIFETIMES) {
    const most = keys.lifetimes[lifetime];
    if (own[lifetime] > most)
      yield fault(
        key,
        `must be at most ${most / seconds} ${unit}, as in the key ring; create the ring with a larger value`,
      );
  }
});

/** Options of `createTokenIssuer()`. */
export type TokenIssuerOptions = OptionsOf<typeof tokenIssuerOptions>;

/** The options with their defaults filled in; times in seconds. */
export type ResolvedIssuerOptions = ReturnType<typeof resolveIssuerOptions>;

/** @throws ConfigurationError that lists all unknown and invalid options */
export function resolveIssuerOptions(given: TokenIssuerOptions) {
  const options = tokenIssuerOptions.resolve(given);
  const { audience, issuer, sessionLifetimeDays } = options;
  return {
    ...options,
    ...secondsOf(options),
    // Treat an empty string as not set.
    issuer: issuer === "" ? undefined : issuer,
    audiences: typeof audience === "string" ? (audience === "" ? [] : [audience]) : audience,
    /** The names that `extra` must not use (ISS-13). */
    reserved: new Set([...FIXED_CLAIMS, options.scopeClaim, options.rolesClaim, options.tenantClaim]),
    graceSeconds: options.refreshGraceSeconds,
    /** Infinity for a session without an end. */
    sessionSeconds: sessionLifetimeDays === 0 ? Infinity : Math.round(sessionLifetimeDays * DAY_SECONDS),
    hookTimeoutMs: options.hookTimeoutSeconds * 1000,
    storeTimeoutMs: options.storeTimeoutSeconds * 1000,
  };
}

interface Lifetimes {
  readonly accessLifetimeMinutes: number;
  readonly refreshLifetimeDays: number;
  readonly leewaySeconds: number;
}

function secondsOf({ accessLifetimeMinutes, refreshLifetimeDays, leewaySeconds }: Lifetimes) {
  return {
    accessSeconds: Math.round(accessLifetimeMinutes * 60),
    refreshSeconds: Math.round(refreshLifetimeDays * DAY_SECONDS),
    leewaySeconds,
  };
}
