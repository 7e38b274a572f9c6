import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Attempt, type AttemptCookies, cookiesOf, isLive } from "./attempt-cookie.ts";
import { isIssuer } from "./built-in.ts";
import { type CodeExchange, errorCode } from "./code-exchange.ts";
import type { IdTokens } from "./id-token.ts";
import { identityOf, isSubject, type LoginIdentity } from "./identity.ts";
import type { AccessTokenHandler } from "./options.ts";
import type { Provider } from "./provider.ts";
import { LoginError } from "./refusals.ts";

/** The provider, functions and settings that `finishLogin()` uses. */
export interface CallbackParts {
  readonly provider: Provider;
  readonly exchange: CodeExchange;
  readonly tokens: IdTokens;
  readonly onAccessToken: AccessTokenHandler | undefined;
  readonly nowSeconds: () => number;
  readonly leewaySeconds: number;
}

const LONGEST_STATE = 256;

/** Returns the cookie of the attempt that the callback's `state` identifies, if the browser sent it. */
export function attemptCookieOf(
  cookies: AttemptCookies,
  req: IncomingMessage,
  query: URLSearchParams,
): { readonly name: string; readonly value: string } | undefined {
  const state = single(query, "state");
  if (state === undefined || state.length > LONGEST_STATE) return undefined;
  const name = cookies.nameOf(state);
  const value = cookiesOf(req.headers.cookie).get(name);
  return value === undefined ? undefined : { name, value };
}

/**
 * Returns the identity of the person who came back from a provider (OIDC-9, OIDC-12, OIDC-13). Runs cheap
 * checks first, so that only an attempt of this browser causes a request to the provider.
 *
 * @throws LoginError, and errors from `onAccessToken`
 */
export async function finishLogin(
  parts: CallbackParts,
  query: URLSearchParams,
  attempt: Attempt | undefined,
): Promise<LoginIdentity> {
  const { provider } = parts;
  const refused = query.get("error");
  if (refused !== null) throw new LoginError("provider_error", errorCode(refused));
  checkAttempt(parts, query, attempt);
  const iss = checkIssuer(provider, query);
  const code = single(query, "code");
  if (code === undefined || code === "") throw new LoginError("parameters", "code");
  const { accessToken, idToken } = await parts.exchange(query, attempt);
  if (provider.kind === "oauth") return identityByAccessToken(parts, accessToken, attempt);
  if (idToken === undefined) throw new LoginError("no_id_token");
  return parts.tokens.check(idToken, { nonce: attempt.nonce, iss, returnTo: attempt.return_to });
}

function checkAttempt(
  { provider, nowSeconds, leewaySeconds }: CallbackParts,
  query: URLSearchParams,
  attempt: Attempt | undefined,
): asserts attempt is Attempt {
  if (attempt === undefined) throw new LoginError("no_login");
  if (!isLive(attempt, nowSeconds(), leewaySeconds)) throw new LoginError("login_expired");
  if (!isSame(single(query, "state") ?? "", attempt.state)) throw new LoginError("state");
  if (attempt.provider !== provider.name) throw new LoginError("provider_mismatch");
}

function checkIssuer(provider: Provider, query: URLSearchParams): string | undefined {
  const all = query.getAll("iss");
  const iss = all[0];
  if (iss === undefined && !provider.issRequired) return undefined;
  if (iss === undefined || all.length > 1 || !isIssuer(provider, iss))
    throw new LoginError("issuer_parameter");
  return iss;
}

async function identityByAccessToken(
  { provider, onAccessToken }: CallbackParts,
  accessToken: string,
  attempt: Attempt,
): Promise<LoginIdentity> {
  // An access token does not prove that it was issued to this client, so only the application may accept it (OIDC-17).
  if (onAccessToken === undefined) throw new LoginError("no_id_token", "onAccessToken is missing");
  const profile = await onAccessToken(accessToken, provider.name);
  if (!isSubject(profile?.subject))
    throw new TypeError("onAccessToken() must return a subject that is a string");
  return identityOf({
    provider: provider.name,
    subject: profile.subject,
    email: profile.email,
    emailVerified: profile.email_verified,
    name: profile.name,
    picture: profile.picture,
    claims: profile.claims ?? {},
    returnTo: attempt.return_to,
  });
}

/** Returns a parameter that occurs exactly once, or undefined. */
function single(query: URLSearchParams, name: string): string | undefined {
  const all = query.getAll(name);
  return all.length === 1 ? all[0] : undefined;
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
