import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "@svc/context";
import type { Algorithm } from "@svc/jwt-auth";
import type { Identity, LoginIdentity } from "./identity.ts";

/** Where a service runs. In `staging` and `prod` cookies are Secure and every address must be https. */
export type Env = "local" | "dev" | "staging" | "prod";

/**
 * Options of one provider (OIDC-15). `google`, `microsoft` and `github` have built-in addresses. Every other provider needs
 * `issuer`, `jwksUri`, `authorizationEndpoint` and `tokenEndpoint`.
 */
export interface ProviderOptions {
  /** The client id that the provider has assigned. Required. */
  readonly clientId: string;
  /** The client secret that the provider has assigned. Required. */
  readonly clientSecret: string;
  /** The callback as registered at the provider, without query and fragment; different for every provider. Required. */
  readonly redirectUri: string;
  /** Requested scopes. Default: `openid email profile`; for `github` `read:user user:email`. */
  readonly scopes?: readonly string[] | undefined;
  /** More parameters of the redirect, such as `prompt`. Default: none. */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** How the code exchange sends the client secret: in the body or in a header. Default: `client_secret_post`. */
  readonly clientAuthentication?: "client_secret_post" | "client_secret_basic" | undefined;
  /** Expected `iss`; for `microsoft` a template with `{tenantid}`. Default: that of the built-in provider. */
  readonly issuer?: string | undefined;
  /** Address of the keys for its ID tokens. Default: that of the built-in provider. */
  readonly jwksUri?: string | undefined;
  /** Address to which people are redirected. Default: that of the built-in provider. */
  readonly authorizationEndpoint?: string | undefined;
  /** Address of the code exchange. Default: that of the built-in provider. */
  readonly tokenEndpoint?: string | undefined;
  /** Accepted algorithms of its ID tokens, asymmetric ones of one family. Default: `["RS256"]`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Whether to reject callbacks without `iss` (RFC 9207), for providers that always send it. Default: false. */
  readonly issRequired?: boolean | undefined;
  /** `microsoft` only: who may sign in, `common`, `organizations`, `consumers` or a directory's id. Default: `common`. */
  readonly directory?: string | undefined;
  /** `microsoft` only: ids of the accepted directories. Default: `directory` if that is an id, else any. */
  readonly directories?: readonly string[] | undefined;
}

/** Called after every successful sign-in (OIDC-10); see {@link OidcLoginOptions.onIdentity}. */
export type IdentityHandler = (identity: LoginIdentity, req: IncomingMessage, res: ServerResponse) => unknown;

/** The person behind an access token, where there is no ID token; the identity is made from it. */
export type Profile = Pick<Identity, "subject"> &
  Partial<Pick<Identity, "email" | "email_verified" | "name" | "picture" | "claims">>;

/** Returns the person behind an access token (OIDC-18); see {@link OidcLoginOptions.onAccessToken}. */
export type AccessTokenHandler = (accessToken: string, provider: string) => Profile | Promise<Profile>;

/** Options of {@link oidcLogin}. */
export interface OidcLoginOptions {
  /** The providers by name, of lower case letters, digits, `-` and `_`. Required, at least one. */
  readonly providers: Readonly<Record<string, ProviderOptions>>;
  /**
   * Gets the identity and creates a session. Its result is sent as 200 JSON, unless it has sent a response itself (OIDC-14).
   * Its errors go to `next`. Default: none; every callback returns a 500 that says so (OIDC-11).
   */
  readonly onIdentity?: IdentityHandler | undefined;
  /**
   * Returns the person who signed in at a provider without ID tokens; called before `onIdentity`. `githubIdentity` does this
   * for GitHub. Default: none; sign-in at such a provider is rejected (OIDC-17).
   */
  readonly onAccessToken?: AccessTokenHandler | undefined;
  /**
   * Key material for the encryption of the login cookie: at least 32 random bytes, the same in every replica; or the current
   * one and the previous one. Required.
   */
  readonly cookieSecret: string | readonly string[];
  /** Where the service runs. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Prefix of `/<provider>/start` and `/<provider>/callback`. Default: `/auth`. */
  readonly prefix?: string | undefined;
  /** Time limit of a code exchange in seconds, including the body, 0.05 to 60. Default: 5. */
  readonly exchangeTimeoutSeconds?: number | undefined;
  /** Tolerated difference between clocks in seconds, 0 to 300. Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /** Receives the reasons of rejected sign-ins where the context has no logger. Default: none. */
  readonly logger?: Logger | undefined;
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Fetches keys and exchanges codes. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}
