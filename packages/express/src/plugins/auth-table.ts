import type { Table } from "@svc/config";
import {
  boolean,
  either,
  integer,
  listOf,
  number,
  oneOf,
  optional,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { type ProviderSettings, providerTable } from "./provider-table.ts";

/** `[plugin.auth]` (AUTH-38). */
export interface AuthSettings {
  /** The source of the keys. Default: jwks. */
  readonly mode: "jwks" | "public_key" | "secret";
  /** Accepted signature algorithms. Default: RS256. */
  readonly algorithms: readonly string[];
  /** The shared secret of mode `secret`. Default: none. */
  readonly secret: string | undefined;
  /** The PEM of mode `public_key`. Default: none. */
  readonly publicKey: string | undefined;
  /** The URL of the key set of mode `jwks`. Default: none. */
  readonly jwksUrl: string | undefined;
  /** The required `iss`; empty: not checked. Default: empty. */
  readonly issuer: string;
  /** The required `aud`, or a required member of it; empty: not checked, with a warning. Default: empty. */
  readonly audience: string | readonly string[];
  /** Accepted clock skew for `exp`, `nbf` and `iat`, in seconds. Default: 30. */
  readonly leewaySeconds: number;
  /** Default: tenant_id. */
  readonly tenantClaim: string;
  /** Default: scope. */
  readonly scopeClaim: string;
  /** Default: roles. */
  readonly rolesClaim: string;
  /** Whether tokens are accepted while the revocation store does not answer. Default: true. */
  readonly revocationFailOpen: boolean;
  /** Time limit for one fetch of the key set, all attempts together, in seconds. Default: 5. */
  readonly jwksTimeoutSeconds: number;
  /** Attempts of one fetch, including the first. Default: 2. */
  readonly jwksAttempts: number;
  /** Failed fetches in a row that open the circuit breaker; 0: no circuit breaker. Default: 3. */
  readonly jwksBreakerFailures: number;
  /** How long the open circuit breaker allows no fetch, in seconds. Default: 30. */
  readonly jwksBreakerCoolDownSeconds: number;
  /** How many verified tokens are cached; 0: none. Default: 5,000. */
  readonly cacheTokens: number;
  /** Whether the service issues tokens: `service.issuer`, and the routes under /auth. Default: false. */
  readonly issueTokens: boolean;
  /** A file or folder of signing keys made by `svc-keys`; its keys also verify, in place of those of the mode. Default: none. */
  readonly signingKeys: string | undefined;
  /** Lifetime of an access token, in minutes (ISS-4). Default: 15. */
  readonly accessLifetimeMinutes: number;
  /** Lifetime of a refresh token, in days (ISS-4). Default: 30. */
  readonly refreshLifetimeDays: number;
  /** How long after its rotation a refresh token is refused without ending its session, in seconds (REF-14). Default: 10. */
  readonly refreshGraceSeconds: number;
  /** Maximum lifetime of a session in days, also with refreshes; 0: no limit (REF-15). Default: 0. */
  readonly sessionLifetimeDays: number;
  /**
   * The secret that encrypts the login cookie of providers, or a list of the current and the previous secret (OIDC-6).
   * Default: derived from `secret` in mode `secret`, else none.
   */
  readonly cookieSecret: string | readonly string[] | undefined;
  /** The sign-in providers, by name (OIDC-15). Default: none. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
}

const claim = string({ pattern: /^[^\s]{1,128}$/, expects: "the name of a claim" });
const texts = either(string({ allowEmpty: true }), listOf(string()));

export const authTable: Table<AuthSettings> = {
  keys: {
    mode: {
      key: "mode",
      env: "SVC_AUTH_MODE",
      kind: withDefault(oneOf("jwks", "public_key", "secret"), "jwks"),
    },
    algorithms: {
      key: "algorithms",
      env: "SVC_AUTH_ALGORITHMS",
      kind: withDefault(listOf(string()), ["RS256"]),
    },
    secret: { key: "secret", env: "SVC_AUTH_SECRET", wins: "env", kind: optional(secret(string())) },
    publicKey: {
      key: "public_key",
      env: "SVC_AUTH_PUBLIC_KEY",
      wins: "env",
      kind: optional(secret(string())),
    },
    jwksUrl: { key: "jwks_url", env: "SVC_AUTH_JWKS_URL", wins: "env", kind: optional(string()) },
    issuer: {
      key: "issuer",
      env: "SVC_AUTH_ISSUER",
      wins: "env",
      kind: withDefault(string({ allowEmpty: true }), ""),
    },
    audience: { key: "audience", env: "SVC_AUTH_AUDIENCE", wins: "env", kind: withDefault(texts, "") },
    leewaySeconds: {
      key: "leeway",
      env: "SVC_AUTH_LEEWAY",
      kind: withDefault(number({ min: 0, max: 3600 }), 30),
    },
    tenantClaim: { key: "tenant_claim", env: "SVC_AUTH_TENANT_CLAIM", kind: withDefault(claim, "tenant_id") },
    scopeClaim: { key: "scope_claim", env: "SVC_AUTH_SCOPE_CLAIM", kind: withDefault(claim, "scope") },
    rolesClaim: { key: "roles_claim", env: "SVC_AUTH_ROLES_CLAIM", kind: withDefault(claim, "roles") },
    revocationFailOpen: { key: "revocation_fail_open", kind: withDefault(boolean(), true) },
    jwksTimeoutSeconds: { key: "jwks_timeout", kind: withDefault(number({ min: 0.05, max: 60 }), 5) },
    jwksAttempts: { key: "jwks_attempts", kind: withDefault(integer({ min: 1, max: 5 }), 2) },
    jwksBreakerFailures: {
      key: "jwks_breaker_failures",
      kind: withDefault(integer({ min: 0, max: 100 }), 3),
    },
    jwksBreakerCoolDownSeconds: {
      key: "jwks_breaker_cool_down",
      kind: withDefault(number({ min: 1, max: 3600 }), 30),
    },
    cacheTokens: { key: "cache_tokens", kind: withDefault(integer({ min: 0, max: 1_000_000 }), 5000) },
    issueTokens: { key: "issue_tokens", kind: withDefault(boolean(), false) },
    signingKeys: { key: "signing_keys", kind: optional(string()) },
    accessLifetimeMinutes: {
      key: "access_lifetime_minutes",
      kind: withDefault(number({ min: 1, max: 1440 }), 15),
    },
    refreshLifetimeDays: {
      key: "refresh_lifetime_days",
      kind: withDefault(number({ min: 1, max: 3650 }), 30),
    },
    refreshGraceSeconds: {
      key: "refresh_grace_seconds",
      kind: withDefault(number({ min: 0, max: 300 }), 10),
    },
    sessionLifetimeDays: {
      key: "session_lifetime_days",
      kind: withDefault(number({ min: 0, max: 3650 }), 0),
    },
    cookieSecret: {
      key: "cookie_secret",
      kind: secret(optional(either(string(), listOf(string({ allowEmpty: true }))))),
    },
    providers: { key: "providers", each: providerTable },
  },
};
