import { defineOptions, kinds as k, pickOptions, type ResolvedOptions } from "@svc/options";
import { jwtAuthOptions } from "./options.ts";

const verifying = jwtAuthOptions.keys;
const claim = k.string({
  pattern: /^[^\s]{1,128}$/,
  expects: "the name of a claim, 1 to 128 characters without white space",
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
