import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "@svc/context";
import type { Algorithm } from "@svc/jwt-auth";
import {
  defineOptions,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
  type WithMethods,
} from "@svc/options";
import { GUID } from "./built-in.ts";
import type { Identity, LoginIdentity } from "./identity.ts";

// ASCII without quotes needs no escaping in headers and URLs.
const scope = k.string({ pattern: /^[\x21\x23-\x5b\x5d-\x7e]+$/, expects: "a scope without spaces" });
const guid = k.string({ pattern: new RegExp(GUID.source, "i"), expects: "the id of a directory (a GUID)" });
const directoryName = k.string({
  pattern: new RegExp(`^(?:common|organizations|consumers|${GUID.source.slice(1, -1)})$`, "i"),
  expects: "common, organizations, consumers or the id of a directory (a GUID)",
});

const textMap: k.Kind<Readonly<Record<string, string>>> = {
  expects: "an object of strings",
  accepts: (value): value is Readonly<Record<string, string>> =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "string"),
};

export const providerOptions = defineOptions("oidcLogin()", {
  /** The client id that the provider has assigned. Required. */
  clientId: { key: "client_id", kind: k.string() },
  /** The client secret that the provider has assigned. Required. */
  clientSecret: { key: "client_secret", kind: k.secret(k.string()) },
  /**
   * The callback URL as registered with the provider, without query and fragment; different for every provider. Required.
   */
  redirectUri: { key: "redirect_uri", kind: k.string() },
  /** Requested scopes. Default: `openid email profile`; for `github` `read:user user:email`. */
  scopes: { key: "scopes", kind: k.optional(k.listOf(scope)) },
  /** Additional parameters of the redirect, such as `prompt`. Default: none. */
  authorizationParameters: { key: "authorization_parameters", kind: k.secret(k.withDefault(textMap, {})) },
  /** How the code exchange sends the client secret: in the body or in a header. Default: `client_secret_post`. */
  clientAuthentication: {
    key: "client_authentication",
    kind: k.withDefault(k.oneOf("client_secret_post", "client_secret_basic"), "client_secret_post"),
  },
  /** Expected `iss`; for `microsoft` a template with `{tenantid}`. Default: the built-in provider's. */
  issuer: { key: "issuer", kind: k.optional(k.string()) },
  /** Address of the keys for ID tokens. Default: the built-in provider's. */
  jwksUri: { key: "jwks_uri", kind: k.optional(k.string()) },
  /** Address to which people are redirected. Default: the built-in provider's. */
  authorizationEndpoint: { key: "authorization_endpoint", kind: k.optional(k.string()) },
  /** Address of the code exchange. Default: the built-in provider's. */
  tokenEndpoint: { key: "token_endpoint", kind: k.optional(k.string()) },
  /** Accepted algorithms for ID tokens: asymmetric, of one family. Default: `["RS256"]`. */
  algorithms: {
    key: "algorithms",
    kind: k.withDefault(k.listOf(k.string()) as k.Kind<readonly Algorithm[]>, ["RS256"]),
  },
  /** Whether to reject callbacks without `iss` (RFC 9207), for providers that always send it. Default: false. */
  issRequired: { key: "iss_required", kind: k.withDefault(k.boolean(), false) },
  /** `microsoft` only: who may sign in, `common`, `organizations`, `consumers` or a directory's id. Default: `common`. */
  directory: { key: "directory", kind: k.optional(directoryName) },
  /** `microsoft` only: ids of the accepted directories. Default: `directory` if that is an id, else any. */
  directories: { key: "directories", kind: k.optional(k.listOf(guid)) },
});

/**
 * Options of one provider (OIDC-15). `google`, `microsoft` and `github` have built-in addresses. Every other provider needs
 * `issuer`, `jwksUri`, `authorizationEndpoint` and `tokenEndpoint`.
 */
export type ProviderOptions = OptionsOf<typeof providerOptions>;

/** The options of one provider with defaults filled in, except for the defaults of a built-in provider. */
export type ResolvedProviderOptions = ResolvedOptions<(typeof providerOptions)["keys"]>;

// Method parameters are bivariant, so a function may declare the request and response of Express that it expects.
interface Functions {
  onIdentity(identity: LoginIdentity, req: IncomingMessage, res: ServerResponse): unknown;
}

/** Called after every successful sign-in (OIDC-10); see {@link OidcLoginOptions.onIdentity}. */
export type IdentityHandler = (identity: LoginIdentity, req: IncomingMessage, res: ServerResponse) => unknown;

/** The owner of an access token from a provider without ID tokens; the identity is built from this object. */
export type Profile = Pick<Identity, "subject"> &
  Partial<Pick<Identity, "email" | "email_verified" | "name" | "picture" | "claims">>;

/** Returns the owner of an access token (OIDC-18); see {@link OidcLoginOptions.onAccessToken}. */
export type AccessTokenHandler = (accessToken: string, provider: string) => Profile | Promise<Profile>;

export const oidcLoginOptions = defineOptions("oidcLogin()", {
  // Contains client secrets, so errors must not show the value, even one of a wrong type.
  /** The providers by name; names consist of lower-case letters, digits, `-` and `_`. Required, at least one. */
  providers: {
    kind: k.secret(k.objectWith<Readonly<Record<string, ProviderOptions>>>("an object of providers by name")),
  },
  /**
   * Receives the identity and creates a session. The result is sent as 200 JSON, unless the function has sent a response
   * itself (OIDC-14). Errors go to `next`. Default: none; every callback then returns a 500 (OIDC-11).
   */
  onIdentity: { kind: k.optional(k.func<IdentityHandler>()) },
  /**
   * Returns the person who signed in with a provider without ID tokens; called before `onIdentity`. `githubIdentity` does
   * this for GitHub. Default: none; sign-in with such a provider is rejected (OIDC-17).
   */
  onAccessToken: { kind: k.optional(k.func<AccessTokenHandler>()) },
  /**
   * Key material for the encryption of the login cookie: at least 32 random bytes, the same in every replica; or a list of
   * the current and the previous key. Required.
   */
  cookieSecret: { key: "cookie_secret", kind: k.secret(k.either(k.string(), k.listOf(k.string()))) },
  /** Where the service runs. In `staging` and `prod` cookies are Secure and every address must be https. Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Prefix of `/<provider>/start` and `/<provider>/callback`. Default: `/auth`. */
  prefix: {
    kind: k.withDefault(
      k.string({
        allowEmpty: true,
        pattern: /^(?:\/[\w.~-]+)*$/,
        expects: "a path such as /auth without a trailing slash, or empty",
      }),
      "/auth",
    ),
  },
  /** Time limit of a code exchange in seconds, including the body, 0.05 to 60. Default: 5. */
  exchangeTimeoutSeconds: { kind: k.withDefault(k.number({ min: 0.05, max: 60 }), 5) },
  /** Tolerated difference between clocks in seconds, 0 to 300. Default: 30. */
  leewaySeconds: { kind: k.withDefault(k.number({ min: 0, max: 300 }), 30) },
  /** Logs the reasons for rejected sign-ins when the context has no logger. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")) },
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  now: { kind: k.wallClock },
  /** Fetches keys and exchanges codes. Default: the global `fetch`. */
  fetch: { kind: k.fetchKind },
});

/** Options of {@link oidcLogin}. */
export type OidcLoginOptions = WithMethods<OptionsOf<typeof oidcLoginOptions>, Functions>;
