import {
  boolean,
  defineOptions,
  type Kind,
  listOf,
  oneOf,
  optional,
  type ResolvedOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";

const parameters: Kind<Readonly<Record<string, string>>> = {
  expects: 'a table of texts, such as { prompt = "login" }',
  accepts: (value): value is Readonly<Record<string, string>> =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "string"),
};

// These kinds check only the types in the file; @svc/oidc-login checks the values in full.
/** `[plugin.auth.providers.<name>]` (OIDC-15). */
export const providerOptions = defineOptions("[plugin.auth.providers]", {
  /** The client id of the service at the provider. Required. */
  clientId: { key: "client_id", kind: string() },
  /** The client secret; usually a reference such as `${GOOGLE_SECRET}`. Required. */
  clientSecret: { key: "client_secret", kind: secret(string()) },
  /** The callback URL as registered at the provider. Required. */
  redirectUri: { key: "redirect_uri", kind: string() },
  /** Requested scopes. Default: those of the built-in provider, else openid email profile. */
  scopes: { key: "scopes", kind: optional(listOf(string())) },
  /** Further parameters of the redirect. Default: none. */
  authorizationParameters: { key: "authorization_parameters", kind: secret(optional(parameters)) },
  /** How the client secret is sent. Default: client_secret_post. */
  clientAuthentication: {
    key: "client_authentication",
    kind: withDefault(oneOf("client_secret_post", "client_secret_basic"), "client_secret_post"),
  },
  /** The required `iss`. Default: that of the built-in provider. */
  issuer: { key: "issuer", kind: optional(string()) },
  /** The URL of the keys of its ID tokens. Default: that of the built-in provider. */
  jwksUri: { key: "jwks_uri", kind: optional(string()) },
  /** The URL to which people are redirected. Default: that of the built-in provider. */
  authorizationEndpoint: { key: "authorization_endpoint", kind: optional(string()) },
  /** The URL that exchanges the code for tokens. Default: that of the built-in provider. */
  tokenEndpoint: { key: "token_endpoint", kind: optional(string()) },
  /** Algorithms of its ID tokens. Default: RS256. */
  algorithms: { key: "algorithms", kind: withDefault(listOf(string()), ["RS256"]) },
  /** Whether an answer without `iss` is refused. Default: false. */
  issRequired: { key: "iss_required", kind: withDefault(boolean(), false) },
  /** Only for microsoft: the directory in which people may sign in. Default: common. */
  directory: { key: "directory", kind: optional(string()) },
  /** Only for microsoft: the directories whose people are accepted. Default: any. */
  directories: { key: "directories", kind: optional(listOf(string())) },
});

/** The settings of [plugin.auth.providers]. */
export type ProviderSettings = ResolvedOptions<(typeof providerOptions)["keys"]>;
