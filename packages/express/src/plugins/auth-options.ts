import { jwtAuthOptions } from "@svc/jwt-auth/options";
import { oidcLoginOptions, providerOptions } from "@svc/oidc-login/options";
import {
  boolean,
  defineOptions,
  either,
  listOf,
  oneOf,
  optional,
  pickOptions,
  type OptionsOf,
  type ResolvedOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { tokenIssuerOptions } from "@svc/token-issuer/options";

const verifying = jwtAuthOptions.keys;
const inProvider = providerOptions.keys;
const claim = string({ pattern: /^[^\s]{1,128}$/, expects: "the name of a claim" });

/** `[plugin.auth]` (AUTH-38). */
export const authOptions = defineOptions("[plugin.auth]", {
  /** The source of the keys. Default: jwks. */
  mode: { ...verifying.mode, kind: withDefault(oneOf("jwks", "public_key", "secret"), "jwks") },
  /** Accepted signature algorithms. Default: RS256. */
  algorithms: { ...verifying.algorithms, kind: withDefault(listOf(string()), ["RS256"]) },
  /** The shared secret of mode `secret`. Default: none. */
  secret: { ...verifying.secret, kind: optional(secret(string())) },
  /** The URL of the key set of mode `jwks`. Default: none. */
  jwksUrl: { ...verifying.jwksUrl, kind: optional(string()) },
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
  tenantClaim: { ...verifying.tenantClaim, kind: withDefault(claim, "tenant_id") },
  /** The claim that lists scopes. Default: scope. */
  scopeClaim: { ...verifying.scopeClaim, kind: withDefault(claim, "scope") },
  /** The claim that lists roles. Default: roles. */
  rolesClaim: { ...verifying.rolesClaim, kind: withDefault(claim, "roles") },
  /** Whether the service issues tokens: `service.issuer`, and the routes under /auth. Default: false. */
  issueTokens: { key: "issue_tokens", kind: withDefault(boolean(), false) },
  /** A file or folder of signing keys made by `svc-keys`; its keys also verify, in place of those of the mode. Default: none. */
  signingKeys: { key: "signing_keys", kind: optional(string()) },
  ...pickOptions(
    tokenIssuerOptions,
    "accessLifetimeMinutes",
    "refreshLifetimeDays",
    "refreshGraceSeconds",
    "sessionLifetimeDays",
  ),
  /**
   * The secret that encrypts the login cookie of providers, or a list of the current and the previous secret (OIDC-6).
   * Default: derived from `secret` in mode `secret`, else none.
   */
  cookieSecret: {
    ...oidcLoginOptions.keys.cookieSecret,
    kind: secret(optional(either(string(), listOf(string({ allowEmpty: true }))))),
  },
  /** The sign-in providers, by name (OIDC-15). Default: none. */
  providers: {
    key: "providers",
    each: defineOptions("[plugin.auth.providers]", {
      ...inProvider,
      // Only the types, because the table of a disabled plugin is checked too; oidcLogin() checks the values.
      scopes: { ...inProvider.scopes, kind: optional(listOf(string())) },
      directory: { ...inProvider.directory, kind: optional(string()) },
      directories: { ...inProvider.directories, kind: optional(listOf(string())) },
      /** Further parameters of the redirect. Default: none. */
      authorizationParameters: {
        ...inProvider.authorizationParameters,
        kind: optional({
          ...inProvider.authorizationParameters.kind,
          expects: 'a table of texts, such as { prompt = "login" }',
        }),
      },
    }),
  },
  /** The revocation check. With `issueTokens` it must be a complete token store (ISS-5). The service does not stop it. */
  revocation: verifying.revocation,
  ...pickOptions(jwtAuthOptions, "tokenFrom", "keys"),
  /** Called at every refresh; returns the current rights of the session (REF-9). Needs `issueTokens`. Default: none. */
  onRefresh: tokenIssuerOptions.keys.onRefresh,
  ...pickOptions(oidcLoginOptions, "onIdentity", "onAccessToken"),
});

/**
 * The options of `[plugin.auth]` that need code. With `issue_tokens`, `revocation` must be a complete token store, because
 * sign-outs are written to it (ISS-5). The service does not stop it.
 */
export type AuthCode = Pick<
  OptionsOf<typeof authOptions>,
  "revocation" | "tokenFrom" | "keys" | "onRefresh" | "onIdentity" | "onAccessToken"
>;

/** The settings of [plugin.auth], and its options in code. */
export type AuthSettings = ResolvedOptions<(typeof authOptions)["keys"]>;
