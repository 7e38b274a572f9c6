import { defineOptions, kinds as k, pickOptions, type ResolvedOptions } from "@svc/options";
import { issuerOptions } from "./issuer-options.ts";
import { jwtAuthOptions } from "./options.ts";

const verifying = jwtAuthOptions.keys;
const claim = k.string({
  pattern: /^[^\s]{1,128}$/,
  expects: "the name of a claim, 1 to 128 characters without white space",
});

const issuer = issuerOptions.keys;

const inFile = defineOptions("[plugin.auth.issuers]", {
  issuer: { ...issuer.issuer, key: "issuer" },
  /** Whether the URL of the key set comes from the issuer's discovery document, instead of `jwks_url`. Default: false. */
  discovery: { ...issuer.discovery, key: "discovery" },
  /** URL of the issuer's key set. Required without `discovery`. Default: none. */
  jwksUrl: { ...issuer.jwksUrl, key: "jwks_url", kind: k.optional(k.string()) },
  /** Accepted audience or audiences. Default: `audience` of `[plugin.auth]`. */
  audience: { key: "audience", kind: k.optional(k.either(k.string(), k.listOf(k.string()))) },
  /** Accepted signature algorithms. Default: `algorithms` of `[plugin.auth]`. */
  algorithms: { key: "algorithms", kind: k.optional(k.listOf(k.string())) },
  /** Whether the service's store holds the revoked tokens of this issuer; may be set for one issuer only. Default: false. */
  revocation: { key: "revocation", kind: k.withDefault(k.boolean(), false) },
});

/** The options of `[plugin.auth]` for verifying tokens (AUTH-38). */
export const authOptions = defineOptions("[plugin.auth]", {
  /** The source of the keys. Default: jwks. */
  mode: { ...verifying.mode, kind: k.withDefault(k.oneOf("jwks", "public_key", "secret"), "jwks") },
  /** Accepted signature algorithms. Default: RS256. */
  algorithms: { ...verifying.algorithms, kind: k.withDefault(k.listOf(k.string()), ["RS256"]) },
  /** The shared secret of mode `secret`. Default: none. */
  secret: { ...verifying.secret, kind: k.optional(k.secret(k.string())) },
  /** The URL of the key set of mode `jwks`. Default: none. */
  jwksUrl: { ...verifying.jwksUrl, kind: k.optional(k.string()) },
  ...pickOptions(
    jwtAuthOptions,
    "publicKey",
    "issuer",
    "audience",
    "leewaySeconds",
    "revocationFailOpen",
    "jwksTimeoutSeconds",
    "jwksAttempts",
    "jwksBreakerFailures",
    "jwksBreakerCoolDownSeconds",
    "cacheTokens",
  ),
  /** Several issuers of tokens in mode `jwks`, by a name of your choice. Default: one issuer. */
  issuers: { key: "issuers", each: inFile },
  /** The claim that names the tenant. Default: tenant_id. */
  tenantClaim: { ...verifying.tenantClaim, kind: k.withDefault(claim, "tenant_id") },
  /** The claim that lists scopes. Default: scope. */
  scopeClaim: { ...verifying.scopeClaim, kind: k.withDefault(claim, "scope") },
  /** The claim that lists roles. Default: roles. */
  rolesClaim: { ...verifying.rolesClaim, kind: k.withDefault(claim, "roles") },
  /** The revocation check. With `issueTokens` it must be a complete token store (ISS-5). The service does not stop it. */
  revocation: verifying.revocation,
  ...pickOptions(jwtAuthOptions, "tokenFrom", "keys"),
});

/** The settings of the plugin. */
export type AuthSettings = ResolvedOptions<(typeof authOptions)["keys"]>;
