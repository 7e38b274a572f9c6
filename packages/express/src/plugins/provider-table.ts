import type { Table } from "@svc/config";
import { boolean, type Kind, listOf, oneOf, optional, secret, string, withDefault } from "@svc/options";

/** `[plugin.auth.providers.<name>]` (OIDC-15). */
export interface ProviderSettings {
  /** The id under which the service is registered there. Required. */
  readonly clientId: string;
  /** The secret that belongs to it; usually a reference such as `${GOOGLE_SECRET}`. Required. */
  readonly clientSecret: string;
  /** The callback as the provider knows it. Required. */
  readonly redirectUri: string;
  /** Default: those of the built-in provider, else openid email profile. */
  readonly scopes: readonly string[] | undefined;
  /** Further parameters of the redirect. Default: none. */
  readonly authorizationParameters: Readonly<Record<string, string>> | undefined;
  /** Where the client secret goes. Default: client_secret_post. */
  readonly clientAuthentication: "client_secret_post" | "client_secret_basic";
  /** What `iss` must be. Default: that of the built-in provider. */
  readonly issuer: string | undefined;
  /** Where the keys of its ID tokens are. Default: that of the built-in provider. */
  readonly jwksUri: string | undefined;
  /** Where people are sent. Default: that of the built-in provider. */
  readonly authorizationEndpoint: string | undefined;
  /** Where the code is exchanged. Default: that of the built-in provider. */
  readonly tokenEndpoint: string | undefined;
  /** Algorithms of its ID tokens. Default: RS256. */
  readonly algorithms: readonly string[];
  /** Whether an answer without `iss` is refused. Default: false. */
  readonly issRequired: boolean;
  /** For microsoft: who may sign in there. Default: common. */
  readonly directory: string | undefined;
  /** For microsoft: the directories that are let in. Default: any. */
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

// What each may be in full is known to the package that works with them; here stands what the file may hold.
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
