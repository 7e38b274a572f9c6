import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "@svc/context";
import type { Algorithm } from "@svc/jwt-auth";
import type { Identity, LoginIdentity } from "./identity.ts";

/** Where a service runs. In `staging` and `prod` cookies are Secure and every address must be https. */
export type Env = "local" | "dev" | "staging" | "prod";

/**
 * One provider (OIDC-15). `google`, `microsoft` and `github` know their addresses; every other name needs `issuer`,
 * `jwksUri`, `authorizationEndpoint` and `tokenEndpoint`.
 */
export interface ProviderOptions {
  /** The id under which the service is registered there. Required. */
  readonly clientId: string;
  /** The secret that belongs to it. Required. */
  readonly clientSecret: string;
  /** The callback as the provider knows it, without query and fragment; no two providers may share one. Required. */
  readonly redirectUri: string;
  /** Default: `openid email profile`; for `github` `read:user user:email`. */
  readonly scopes?: readonly string[] | undefined;
  /** Further parameters of the redirect, `prompt` say. Default: none. */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Where the client secret goes in the code exchange: the body or the header. Default: `client_secret_post`. */
  readonly clientAuthentication?: "client_secret_post" | "client_secret_basic" | undefined;
  /** What `iss` must be; for `microsoft` a template with `{tenantid}`. Default: that of the built-in provider. */
  readonly issuer?: string | undefined;
  /** Where the keys of its ID tokens are. Default: that of the built-in provider. */
  readonly jwksUri?: string | undefined;
  /** Where people are sent. Default: that of the built-in provider. */
  readonly authorizationEndpoint?: string | undefined;
  /** Where the code is exchanged. Default: that of the built-in provider. */
  readonly tokenEndpoint?: string | undefined;
  /** Algorithms of its ID tokens, asymmetric ones of one family. Default: `["RS256"]`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Whether its answers always bring `iss` (RFC 9207), so that one without is refused. Default: false. */
  readonly issRequired?: boolean | undefined;
  /** `microsoft` only: who may sign in there, `common`, `organizations`, `consumers` or a directory's id. Default: `common`. */
  readonly directory?: string | undefined;
  /** `microsoft` only: ids of the directories that are let in. Default: `directory` where that is an id, else any. */
  readonly directories?: readonly string[] | undefined;
}

/** Called for everybody who has signed in (OIDC-10); see {@link OidcLoginOptions.onIdentity}. */
export type IdentityHandler = (identity: LoginIdentity, req: IncomingMessage, res: ServerResponse) => unknown;

/** What somebody is called where there is no ID token; the rest of the identity is made of it. */
export type Profile = Pick<Identity, "subject"> &
  Partial<Pick<Identity, "email" | "email_verified" | "name" | "picture" | "claims">>;

/** Finds out who an access token speaks for (OIDC-18); see {@link OidcLoginOptions.onAccessToken}. */
export type AccessTokenHandler = (accessToken: string, provider: string) => Profile | Promise<Profile>;

/** What {@link oidcLogin} takes. */
export interface OidcLoginOptions {
  /** The providers by name; a name is of lower case letters, digits, `-` and `_`. Required, at least one. */
  readonly providers: Readonly<Record<string, ProviderOptions>>;
  /**
   * Gets the identity, and makes a session of it. What it returns is answered as 200 JSON, unless it has sent a response
   * itself (OIDC-14); what it throws goes to `next`. Default: none, every callback answers 500 and says so (OIDC-11).
   */
  readonly onIdentity?: IdentityHandler | undefined;
  /**
   * Asked who signed in at a provider without ID tokens, before `onIdentity`: `githubIdentity` does it for GitHub.
   * Default: none, sign-in there is refused (OIDC-17).
   */
  readonly onAccessToken?: AccessTokenHandler | undefined;
  /**
   * What the login cookie is encrypted with: at least 32 bytes, drawn at random, the same in every replica; or the
   * current one and the one before it. Required.
   */
  readonly cookieSecret: string | readonly string[];
  /** Where the service runs. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Path in front of `/<provider>/start` and `/<provider>/callback`. Default: `/auth`. */
  readonly prefix?: string | undefined;
  /** Seconds that a code exchange may take, the body included, 0.05 to 60. Default: 5. */
  readonly exchangeTimeoutSeconds?: number | undefined;
  /** Seconds by which clocks may differ, 0 to 300. Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /** Gets the reasons of refusals where the context has no logger. Default: none. */
  readonly logger?: Logger | undefined;
  /** The time, in milliseconds since the Unix epoch; for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** What fetches keys and exchanges codes. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}
