import type { Cache } from "@svc/cache";
import type { Table } from "@svc/config";
import type { JwtAuth, JwtAuthOptions, RevocationCheck } from "@svc/jwt-auth";
import {
  boolean,
  ConfigurationError,
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
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.auth]` (AUTH-38). */
export interface AuthSettings {
  /** Where the keys come from. Default: jwks. */
  readonly mode: "jwks" | "public_key" | "secret";
  /** Algorithms that a token may be signed with. Default: RS256. */
  readonly algorithms: readonly string[];
  /** The shared secret of mode `secret`. Default: none. */
  readonly secret: string | undefined;
  /** The PEM of mode `public_key`. Default: none. */
  readonly publicKey: string | undefined;
  /** The key set's URL of mode `jwks`. Default: none. */
  readonly jwksUrl: string | undefined;
  /** What `iss` must be; empty: not looked at. Default: empty. */
  readonly issuer: string;
  /** What `aud` must be or contain; empty: not looked at, with a warning. Default: empty. */
  readonly audience: string | readonly string[];
  /** Clock skew that is allowed on `exp`, `nbf` and `iat`, in seconds. Default: 30. */
  readonly leewaySeconds: number;
  /** Default: tenant_id. */
  readonly tenantClaim: string;
  /** Default: scope. */
  readonly scopeClaim: string;
  /** Default: roles. */
  readonly rolesClaim: string;
  /** Whether a token counts while the revocation store does not answer. Default: true. */
  readonly revocationFailOpen: boolean;
  /** For one fetch of the key set, all tries together, in seconds. Default: 5. */
  readonly jwksTimeoutSeconds: number;
  /** Tries of one fetch, the first one included. Default: 2. */
  readonly jwksAttempts: number;
  /** Failed fetches in a row after which none is tried for a while; 0 for never. Default: 3. */
  readonly jwksBreakerFailures: number;
  /** For how long none is tried then, in seconds. Default: 30. */
  readonly jwksBreakerCoolDownSeconds: number;
  /** How many verified tokens are remembered; 0 switches that off. Default: 5,000. */
  readonly cacheTokens: number;
}

/** What an application adds to `[plugin.auth]` in code. */
export type AuthCode = Pick<JwtAuthOptions, "revocation" | "tokenFrom" | "keys">;

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
  },
};

/** The middleware that verifies the caller's token. */
export async function authPlugin(
  settings: AuthSettings,
  { logger, env, profile }: PluginContext,
  code: AuthCode = {},
  cache: Cache | undefined = undefined,
): Promise<PluginParts & { readonly auth: JwtAuth }> {
  const { jwtAuth } = await import("@svc/jwt-auth");
  const { mode, secret: sharedSecret, publicKey, jwksUrl, issuer, audience, ...rest } = settings;
  refuseInReduced(profile, code);
  // A file of variables that services share may hold more keys than this one needs.
  const material = {
    secret: { mode, secret: sharedSecret },
    public_key: { mode, publicKey },
    jwks: { mode, jwksUrl },
  }[mode];
  const revocation = code.revocation ?? (cache && (await sharedRevocations(cache)));
  const auth = namedAsConfigured({ plugin: "auth", table: authTable, profile }, () =>
    jwtAuth({
      ...rest,
      ...(code.keys === undefined ? material : {}),
      ...code,
      revocation,
      algorithms: rest.algorithms as JwtAuthOptions["algorithms"],
      issuer: issuer === "" ? undefined : issuer,
      audience: audience.length === 0 ? undefined : audience,
      env,
      logger,
    }),
  );
  if (profile === "reduced") logger.info({}, "tokens are not checked for revocation in the reduced profile");
  return {
    auth,
    identity: auth,
    checks: [auth.readiness()],
    onStop: ["close", () => auth.stop()],
    info: { mode: code.keys === undefined ? mode : "keys", algorithms: [...rest.algorithms] },
  };
}

/** What every replica that shares the cache knows of revoked tokens and sessions (REV-3). */
async function sharedRevocations({ redis }: Cache): Promise<RevocationCheck> {
  const { createRedisTokenStore } = await import("@svc/token-store/redis");
  return createRedisTokenStore({ redis });
}

// PROF-3: whoever needs revocation needs the full profile, and should not learn that from a token that still works.
function refuseInReduced(profile: "full" | "reduced", { revocation, keys }: AuthCode): void {
  if (profile === "full" || (revocation === undefined && keys === undefined)) return;
  const key = revocation === undefined ? "auth.keys" : "auth.revocation";
  const message =
    "belongs to the full profile; the reduced one verifies tokens with a secret or a public key alone";
  throw new ConfigurationError("createService()", [{ key, message }]);
}
