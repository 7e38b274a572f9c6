export { type OidcLogin, oidcLogin } from "./oidc-login.ts";
export type {
  AccessTokenHandler,
  IdentityHandler,
  OidcLoginOptions,
  Profile,
  ProviderOptions,
} from "./options.ts";
export type { EnvironmentName as Env } from "@svc/options";
export type { Identity, LoginIdentity } from "./identity.ts";
export { githubIdentity, type GithubIdentityOptions } from "./github-identity.ts";
export { LoginError, type LoginRefusal } from "./refusals.ts";
