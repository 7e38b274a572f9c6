import { listen } from "./listen.ts";
import { Provider } from "oidc-provider";
import { browser, type Browser } from "./browser.ts";

/** A real OpenID provider in this process, at which users can sign in. */
export interface RealProvider extends AsyncDisposable {
  readonly url: string;
  /** Creates the provider with one client that has these redirect URIs. Replaces an earlier provider. */
  accept(...redirectUris: string[]): void;
  readonly options: Readonly<
    Record<"issuer" | "jwksUri" | "authorizationEndpoint" | "tokenEndpoint", string>
  >;
}

export async function realProvider(): Promise<RealProvider> {
  // Start the server first: the provider's constructor needs its address.
  let handle: ReturnType<Provider["callback"]> | undefined;
  const server = await listen((req, res) => void handle?.(req, res));
  const { url } = server;
  return {
    url,
    options: {
      issuer: url,
      jwksUri: `${url}/jwks`,
      authorizationEndpoint: `${url}/auth`,
      tokenEndpoint: `${url}/token`,
    },
    accept(...redirectUris) {
      handle = quietly(() => made(url, redirectUris));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function made(url: string, redirectUris: string[]): ReturnType<Provider["callback"]> {
  const provider = new Provider(url, {
    clients: [
      {
        client_id: "client-1",
        client_secret: "secret-of-the-client",
        redirect_uris: redirectUris,
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["a key for the cookies of the provider"] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    pkce: { required: () => true },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: `The ${id}` }),
    }),
  });
  return provider.callback();
}

/** Runs a function without the warnings that the provider prints at start. */
function quietly<T>(run: () => T): T {
  const { warn, info } = console;
  console.warn = console.info = () => undefined;
  try {
    return run();
  } finally {
    console.warn = warn;
    console.info = info;
  }
}

/** Follows redirects and submits the provider's forms. Returns the address to which the provider redirects back. */
export async function signInThere(
  location: string,
  { who = "ada", cancel = false, at = browser() }: { who?: string; cancel?: boolean; at?: Browser } = {},
): Promise<string> {
  const { origin } = new URL(location);
  let url = location;
  let init: RequestInit = {};
  for (let steps = 0; steps < 20; steps++) {
    const response = await at.open(url, init);
    init = {};
    const next = response.headers.get("location");
    if (next !== null) {
      url = new URL(next, url).href;
      if (new URL(url).origin !== origin) return url;
      continue;
    }
    const page = await response.text();
    if (cancel) {
      url = new URL(/href="([^"]*\/abort)"/.exec(page)?.[1] ?? "", url).href;
      continue;
    }
    const action = /action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`no form at ${url}:\n${page}`);
    url = new URL(action, url).href;
    const body = new URLSearchParams({ prompt, login: who, password: "any" });
    init = { method: "POST", body };
  }
  throw new Error("the sign-in did not end after 20 steps");
}
