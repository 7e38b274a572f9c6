import { defineOptions, fault, kinds as k, type OptionsOf } from "@svc/options";
import { algorithmTexts } from "./algorithms.ts";
import { isKeySource, keysKind } from "./key-input.ts";

const claims = ["scopeClaim", "rolesClaim", "tenantClaim"] as const;

export const verifierOptions = defineOptions("createVerifier()", {
  /**
   * The key or the keys: a key source, a `KeyObject`, a `CryptoKey`, a JWK, a JWK set, a PEM, or a function of the token's
   * header. Required.
   */
  keys: { kind: keysKind },
  /**
   * Algorithms that tokens may be signed with, of one family (AUTH-3, AUTH-5). Default: the key source's algorithms, or
   * `["RS256"]` if it lists none.
   */
  algorithms: { kind: k.optional(algorithmTexts) },
  /** Required value of `iss` (AUTH-6); empty: not checked. Default: empty. */
  issuer: {
    key: "issuer",
    env: "SVC_AUTH_ISSUER",
    wins: "env",
    kind: k.withDefault(k.string({ allowEmpty: true }), ""),
  },
  /**
   * Accepted audience or audiences; `aud` must contain at least one of them (AUTH-6); empty: not checked. Default: empty.
   */
  audience: {
    key: "audience",
    env: "SVC_AUTH_AUDIENCE",
    wins: "env",
    kind: k.withDefault(k.either(k.string({ allowEmpty: true }), k.listOf(k.string())), ""),
  },
  /** Leeway on exp, nbf and iat in seconds, 0 to 3,600 (AUTH-8). Default: 30. */
  leewaySeconds: {
    key: "leeway",
    env: "SVC_AUTH_LEEWAY",
    kind: k.withDefault(k.number({ min: 0, max: 3600 }), 30),
  },
  /** The claim that lists scopes (CLAIM-1). Default: `scope`. */
  scopeClaim: { key: "scope_claim", env: "SVC_AUTH_SCOPE_CLAIM", kind: k.withDefault(k.string(), "scope") },
  /** The claim that lists roles (CLAIM-1). Default: `roles`. */
  rolesClaim: { key: "roles_claim", env: "SVC_AUTH_ROLES_CLAIM", kind: k.withDefault(k.string(), "roles") },
  /** The claim that names the tenant (CLAIM-1). Default: `tenant_id`. */
  tenantClaim: {
    key: "tenant_claim",
    env: "SVC_AUTH_TENANT_CLAIM",
    kind: k.withDefault(k.string(), "tenant_id"),
  },
  /** `access` refuses refresh tokens (AUTH-10), `refresh` all others. Default: `access`. */
  tokenUse: { kind: k.withDefault(k.oneOf("access", "refresh"), "access") },
  /** Maximum number of cached verified tokens, 0 (no cache) to 1,000,000. Default: 5,000. */
  cacheTokens: { key: "cache_tokens", kind: k.withDefault(k.integer({ min: 0, max: 1_000_000 }), 5000) },
  /**
   * Maximum memory of the verified-token cache in bytes (upper-bound estimate), at least 65,536. Default: 33,554,432 (32
   * MiB).
   */
  cacheBytes: { kind: k.withDefault(k.integer({ min: 65_536 }), 32 * 1024 * 1024) },
  /**
   * Whether ES* and EdDSA signatures are verified asynchronously in the thread pool: `verify` then returns a promise for a
   * token that is not cached. RSA and HMAC are always verified synchronously. Default: true.
   */
  useThreadPool: { kind: k.withDefault(k.boolean(), true) },
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  now: { kind: k.wallClock },
}).withCheck(function* (options) {
  // `grt` must not be a claim name, because it lists the rights of a session, not those of a request (CLAIM-5).
  const grt = "must not be grt: this claim lists the rights of a session, not those of a request";
  yield* claims.filter((key) => options[key] === "grt").map((key) => fault(key, grt));
  // Refuse a source without `generation`, because cached tokens would stay valid after their key was removed.
  const stale =
    "must have a numeric `generation` that increases when a key changes; use 0 if keys never change";
  if (isKeySource(options.keys) && typeof options.keys.generation !== "number") yield fault("keys", stale);
});

/** Options of `createVerifier()`. */
export type VerifierOptions = OptionsOf<typeof verifierOptions>;
