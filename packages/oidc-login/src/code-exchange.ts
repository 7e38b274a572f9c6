import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
} from "openid-client";
import type { Attempt } from "./attempt-cookie.ts";
import type { Provider } from "./provider.ts";
import { jsonObject, nameOf, providerFetch } from "./provider-fetch.ts";
import { LoginError } from "./refusals.ts";

/** The tokens that a provider returns for a code. */
export interface Tokens {
  readonly accessToken: string;
  readonly idToken: string | undefined;
}

/** Exchanges a code with its provider. Throws only LoginError. */
export type CodeExchange = (answer: URLSearchParams, attempt: Attempt) => Promise<Tokens>;

// openid-client would check `id_token` by its own rules, without Microsoft's issuer template and our keys. Renaming the
// field hides the ID token from openid-client.
const ID_TOKEN = "svc_id_token";

/** Configures openid-client for a provider. Makes no request. */
export function clientOf(
  provider: Provider,
  fetch: typeof globalThis.fetch,
  timeoutMs: number,
): Configuration {
  const { issuer, authorizationEndpoint, tokenEndpoint, clientSecret, issRequired } = provider;
  const authenticate =
    provider.clientAuthentication === "client_secret_basic" ? ClientSecretBasic : ClientSecretPost;
  const client = new Configuration(
    {
      issuer,
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
      // For Microsoft, the callback checks `iss` itself, and the exchange deletes it from the URL.
      authorization_response_iss_parameter_supported: issRequired && provider.kind !== "microsoft",
    },
    provider.clientId,
    { client_secret: clientSecret },
    authenticate(clientSecret),
  );
  // Allow http here: resolving the options has rejected it where `env` forbids it.
  allowInsecureRequests(client);
  client[customFetch] = (url, options) => tokenAnswer(fetch, url, options as RequestInit, timeoutMs);
  return client;
}

/** Maximum number of concurrent exchanges with one provider. Each keeps a connection open while the provider hangs. */
const MOST_EXCHANGES = 256;

export function codeExchange(provider: Provider, client: Configuration): CodeExchange {
  let underWay = 0;
  return async (answer, attempt) => {
    if (underWay >= MOST_EXCHANGES)
      throw new LoginError("provider_unreachable", "too many concurrent exchanges");
    const url = new URL(provider.redirectUri);
    url.search = answer.toString();
    if (provider.kind === "microsoft") url.searchParams.delete("iss");
    underWay += 1;
    try {
      const tokens = await authorizationCodeGrant(client, url, {
        expectedState: attempt.state,
        pkceCodeVerifier: attempt.verifier,
      });
      const idToken = tokens[ID_TOKEN];
      return {
        accessToken: tokens.access_token,
        idToken: typeof idToken === "string" ? idToken : undefined,
      };
    } catch (error) {
      throw loginErrorOf(error);
    } finally {
      underWay -= 1;
    }
  };
}

async function tokenAnswer(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<Response> {
  const { status, body } = await providerFetch(fetch, url, init, timeoutMs).catch((error: unknown) => {
    throw new LoginError("provider_unreachable", nameOf(error));
  });
  const answer = jsonObject(body);
  // GitHub reports errors with status 200; other providers use 400.
  if (answer !== undefined && status < 500 && status !== 429 && typeof answer["error"] === "string")
    throw new LoginError("code_refused", errorCode(answer["error"]));
  if (status >= 400 && status < 500 && status !== 429) throw new LoginError("code_refused", `${status}`);
  if (status !== 200 || answer === undefined)
    throw new LoginError("provider_unreachable", status === 200 ? "no JSON" : `${status}`);
  const { id_token: idToken, [ID_TOKEN]: _foreign, ...rest } = answer;
  return Response.json(idToken === undefined ? rest : { ...rest, [ID_TOKEN]: idToken });
}

/**
 * Returns an OAuth error code, which is safe to log. Replaces any other text, because a provider may echo the code, the
 * verifier or the secret.
 */
export function errorCode(value: string): string {
  return /^(?=.{1,48}$)[a-z]+(?:_[a-z]+)*$/.test(value) ? value : "an invalid error code";
}

function loginErrorOf(error: unknown): LoginError {
  if (error instanceof LoginError) return error;
  if (!(error instanceof Error)) return new LoginError("exchange_answer");
  if (error.cause instanceof LoginError) return error.cause;
  // `code` is safe to log, because openid-client sets it and not the provider.
  const { code } = error as { readonly code?: unknown };
  return new LoginError("exchange_answer", typeof code === "string" ? code : error.name);
}
