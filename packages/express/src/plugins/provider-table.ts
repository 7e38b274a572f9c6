import type { Table } from "@svc/config";
import { boolean, type Kind, listOf, oneOf, optional, secret, string, withDefault } from "@svc/options";

/** `[plugin.auth.providers.<name>]` (OIDC-15). */
export interface ProviderSettings {
  /** The client id of the service at the provider. Required. */
  readonly clientId: string;
  /** The client secret; usually a reference such as `${GOOGLE_SECRET}`. Required. */
  readonly clientSecret: string;
  /** The callback URL as registered at the provider. Required. */
  readonly redirectUri: string;
  /** Requested scopes. Default: those of the built-in provider, else openid email profile. */
  readonly scopes: readonly string[] | undefined;
  /** Further parameters of the redirect. Default: none. */
  readonly authorizationParameters: Readonly<Record<string, string>> | undefined;
  /** How the client secret is sent. Default: client_secret_post. */
  readonly clientAuthentication: "client_secret_post" | "client_secret_basic";
  /** The required `iss`. Default: that of the built-in provider. */
  readonly issuer: string | undefined;
  /** The URL of the keys of its ID tokens. Default: that of the built-in provider. */
  readonly jwksUri: string | undefined;
  /** The URL to which people are redirected. Default: that of the built-in provider. */
  readonly authorizationEndpoint: string | undefined;
  /** The URL that exchanges the code for tokens. Default: that of the built-in provider. */
  readonly tokenEndpoint: string | undefined;
  /** Algorithms of its ID tokens. Default: RS256. */
  readonly algorithms: readonly string[];
  /** Whether an answer without `iss` is refused. Default: false. */
  readonly issRequired: boolean;
  /** Only for microsoft: the directory in which people may sign in. Default: common. */
  readonly directory: string | undefined;
  /** Only for microsoft: the directories whose people are accepted. Default: any. */
  readonly directories: readonly string[] | undefined;
}

const parameters: Kind<Readonly<Record<string, string>>> = {
  expects: 'a table of texts, such as { prompt = "login" }',
  accepts: (value): value is Readonly<Record<string, string>> =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((each) => typeof each === "string"),
};

// These kinds check only the types in the file; @svc/oidc-login checks the values in full.
export const providerTable: Table<ProviderSettings> = {
  keys: {
    clientId: { key: "client_id", kind: string() },
    clientSecret: { key: "client_secret", kind: secret(string()) },
    redirectUri: { key: "redirect_uri", kind: string() },
    scopes: { key: "scopes", kind: optional(listOf(string())) },
    authorizationParameters: { key: "authorization_parameters", kind: secret(optional(parameters)) },
    clientAuthentication: {
      key: "client_authentication",
      kind: withDefault(oneOf("client_secret_post", "client_secret_basic"), "client_secret_post"),
    },
    issuer: { key: "issuer", kind: optional(string()) },
    jwksUri: { key: "jwks_uri", kind: optional(string()) },
    authorizationEndpoint: { key: "authorization_endpoint", kind: optional(string()) },
    tokenEndpoint: { key: "token_endpoint", kind: optional(string()) },
    algorithms: { key: "algorithms", kind: withDefault(listOf(string()), ["RS256"]) },
    issRequired: { key: "iss_required", kind: withDefault(boolean(), false) },
    directory: { key: "directory", kind: optional(string()) },
    directories: { key: "directories", kind: optional(listOf(string())) },
  },
};
