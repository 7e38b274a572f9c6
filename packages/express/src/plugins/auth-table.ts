import {
  boolean,
  defineOptions,
  either,
  type Kind,
  integer,
  listOf,
  number,
  oneOf,
  optional,
  type ResolvedOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { JwtAuthOptions } from "@svc/jwt-auth";
import type { AccessTokenHandler, IdentityHandler } from "@svc/oidc-login";
import type { RefreshHook } from "@svc/token-issuer";
import { providerOptions } from "./provider-table.ts";

const claim = string({ pattern: /^[^\s]{1,128}$/, expects: "the name of a claim" });
const texts = either(string({ allowEmpty: true }), listOf(string()));

/** A value that the package that gets it checks in full. */
function anything<T>(): Kind<T> {
  return { expects: "a value", accepts: (value): value is T => value !== undefined };
}

/** `[plugin.auth]` (AUTH-38). */
export const authOptions = defineOptions("[plugin.auth]", {
  /** The source of the keys. Default: jwks. */
  mode: {
    key: "mode",
    env: "SVC_AUTH_MODE",
    kind: withDefault(oneOf("jwks", "public_key", "secret"), "jwks"),
  },
  /** Accepted signature algorithms. Default: RS256. */
  algorithms: {
    key: "algorithms",
    env: "SVC_AUTH_ALGORITHMS",
    kind: withDefault(listOf(string()), ["RS256"]),
  },
  /** The shared secret of mode `secret`. Default: none. */
  secret: { key: "secret", env: "SVC_AUTH_SECRET", wins: "env", kind: optional(secret(string())) },
  /** The PEM of mode `public_key`. Default: none. */
  publicKey: {
    key: "public_key",
    env: "SVC_AUTH_PUBLIC_KEY",
    wins: "env",
    kind: optional(secret(string())),
  },
  /** The URL of the key set of mode `jwks`. Default: none. */
  jwksUrl: { key: "jwks_url", env: "SVC_AUTH_JWKS_URL", wins: "env", kind: optional(string()) },
  /** The required `iss`; empty: not checked. Default: empty. */
  issuer: {
    key: "issuer",
    env: "SVC_AUTH_ISSUER",
    wins: "env",
    kind: withDefault(string({ allowEmpty: true }), ""),
  },
  /** The required `aud`, or a required member of it; empty: not checked, with a warning. Default: empty. */
  audience: { key: "audience", env: "SVC_AUTH_AUDIENCE", wins: "env", kind: withDefault(texts, "") },
  /** Accepted clock skew for `exp`, `nbf` and `iat`, in seconds. Default: 30. */
  leewaySeconds: {
    key: "leeway",
    env: "SVC_AUTH_LEEWAY",
    kind: withDefault(number({ min: 0, max: 3600 }), 30),
  },
  /** Default: tenant_id. */
  tenantClaim: { key: "tenant_claim", env: "SVC_AUTH_TENANT_CLAIM", kind: withDefault(claim, "tenant_id") },
  /** Default: scope. */
  scopeClaim: { key: "scope_claim", env: "SVC_AUTH_SCOPE_CLAIM", kind: withDefault(claim, "scope") },
  /** Default: roles. */
  rolesClaim: { key: "roles_claim", env: "SVC_AUTH_ROLES_CLAIM", kind: withDefault(claim, "roles") },
  /** Whether tokens are accepted while the revocation store does not answer. Default: true. */
  revocationFailOpen: { key: "revocation_fail_open", kind: withDefault(boolean(), true) },
  /** Time limit for one fetch of the key set, all attempts together, in seconds. Default: 5. */
  jwksTimeoutSeconds: { key: "jwks_timeout", kind: withDefault(number({ min: 0.05, max: 60 }), 5) },
  /** Attempts of one fetch, including the first. Default: 2. */
  jwksAttempts: { key: "jwks_attempts", kind: withDefault(integer({ min: 1, max: 5 }), 2) },
  /** Failed fetches in a row that open the circuit breaker; 0: no circuit breaker. Default: 3. */
  jwksBreakerFailures: {
    key: "jwks_breaker_failures",
    kind: withDefault(integer({ min: 0, max: 100 }), 3),
  },
  /** How long the open circuit breaker allows no fetch, in seconds. Default: 30. */
  jwksBreakerCoolDownSeconds: {
    key: "jwks_breaker_cool_down",
    kind: withDefault(number({ min: 1, max: 3600 }), 30),
  },
  /** How many verified tokens are cached; 0: none. Default: 5,000. */
  cacheTokens: { key: "cache_tokens", kind: withDefault(integer({ min: 0, max: 1_000_000 }), 5000) },
  /** Whether the service issues tokens: `service.issuer`, and the routes under /auth. Default: false. */
  issueTokens: { key: "issue_tokens", kind: withDefault(boolean(), false) },
  /** A file or folder of signing keys made by `svc-keys`; its keys also verify, in place of those of the mode. Default: none. */
  signingKeys: { key: "signing_keys", kind: optional(string()) },
  /** Lifetime of an access token, in minutes (ISS-4). Default: 15. */
  accessLifetimeMinutes: {
    key: "access_lifetime_minutes",
    kind: withDefault(number({ min: 1, max: 1440 }), 15),
  },
  /** Lifetime of a refresh token, in days (ISS-4). Default: 30. */
  refreshLifetimeDays: {
    key: "refresh_lifetime_days",
    kind: withDefault(number({ min: 1, max: 3650 }), 30),
  },
  /** How long after its rotation a refresh token is refused without ending its session, in seconds (REF-14). Default: 10. */
  refreshGraceSeconds: {
    key: "refresh_grace_seconds",
    kind: withDefault(number({ min: 0, max: 300 }), 10),
  },
  /** Maximum lifetime of a session in days, also with refreshes; 0: no limit (REF-15). Default: 0. */
  sessionLifetimeDays: {
    key: "session_lifetime_days",
    kind: withDefault(number({ min: 0, max: 3650 }), 0),
  },
  /**
   * The secret that encrypts the login cookie of providers, or a list of the current and the previous secret (OIDC-6).
   * Default: derived from `secret` in mode `secret`, else none.
   */
  cookieSecret: {
    key: "cookie_secret",
    kind: secret(optional(either(string(), listOf(string({ allowEmpty: true }))))),
  },
  /** The sign-in providers, by name (OIDC-15). Default: none. */
  providers: { key: "providers", each: providerOptions },
  /** The revocation check. With `issueTokens` it must be a complete token store (ISS-5). The service does not stop it. */
  revocation: { kind: optional(anything<NonNullable<JwtAuthOptions["revocation"]>>()) },
  /** Returns the token of a request from another place than `Authorization`. Default: none. */
  tokenFrom: { kind: optional(anything<NonNullable<JwtAuthOptions["tokenFrom"]>>()) },
  /** Own keys in place of those of the mode. Default: none. */
  keys: { kind: optional(anything<NonNullable<JwtAuthOptions["keys"]>>()) },
  /** Called at every refresh; returns the current rights of the session (REF-9). Needs `issueTokens`. Default: none. */
  onRefresh: { kind: optional(anything<RefreshHook>()) },
  /**
   * Creates a session for the identity of a person who has signed in at a provider. Its result is sent as 200 JSON, unless
   * it has sent a response itself (OIDC-10, OIDC-14). Default: none, every callback answers 500.
   */
  onIdentity: { kind: optional(anything<IdentityHandler>()) },
  /** Returns the identity for an access token of a provider without ID tokens, such as `github` (OIDC-18). Default: none. */
  onAccessToken: { kind: optional(anything<AccessTokenHandler>()) },
});

/** The settings of [plugin.auth]. */
export type AuthSettings = ResolvedOptions<(typeof authOptions)["keys"]>;
