import { generateKeyPair, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { Configuration, JWK, Provider } from "oidc-provider";
import { consentPage, type DemoPerson, refusalPage, whoPage } from "./demo-provider-pages.ts";
import { demoProviderStore } from "./demo-provider-store.ts";
import { demoTenants } from "./seed.ts";

/** Options of {@link startDemoProvider}. */
export interface DemoProviderOptions {
  /** Allowed redirect URIs: the callback of the service. */
  readonly redirectUris: readonly string[];
  /** Port on 127.0.0.1. Default: 0, any free port. */
  readonly port?: number | undefined;
  /** A key and a certificate for 127.0.0.1, as PEM; with them the provider uses https. Default: none. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined;
  /** The people to choose from. Default: {@link demoPeople}. */
  readonly people?: readonly DemoPerson[] | undefined;
}

/** A running provider, and the settings that a service needs to use it. */
export interface DemoProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
  stop(): Promise<void>;
}

/** A clerk and an admin of every demo tenant, and a person without an account in the service. */
export const demoPeople: readonly DemoPerson[] = [
  ...demoTenants.flatMap((tenant) =>
    ["clerk", "admin"].map((role) => ({
      subject: `${role}-of-${tenant}`,
      email: `${role}@${tenant}.example`,
      name: `The ${role} of ${tenant}`,
    })),
  ),
  { subject: "stranger", email: "stranger@elsewhere.example", name: "A stranger" },
];

const patienceMs = 600;
const mostBytes = 4096;

/**
 * Starts a real OpenID provider on loopback that lets every visitor choose an identity: for a demo on a developer's
 * machine. Its keys and its data exist in memory only.
 */
export async function startDemoProvider({
  redirectUris,
  port = 0,
  tls,
  people = demoPeople,
}: DemoProviderOptions): Promise<DemoProvider> {
  let answer: Promise<RequestListener> | undefined;
  const listener: RequestListener = (req, res) => {
    // Create the provider at the first request: most runs of the demo never use it, and loading it takes as long as
    // loading the service.
    answer ??= answerer();
    answer.then(
      (found) => found(req, res),
      (error: unknown) => {
        // Allow the next request to try again.
        answer = undefined;
        process.stderr.write(`the demo provider cannot be created: ${String(error)}\n`);
        sendPage(res, 500, refusalPage(String(error)));
      },
    );
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: bound } = server.address() as AddressInfo;
  const issuer = `${tls === undefined ? "http" : "https"}://127.0.0.1:${bound}`;
  const client = { id: "expenses", secret: randomBytes(32).toString("base64url") };
  async function answerer(): Promise<RequestListener> {
    const provider = await made(issuer, client, redirectUris, people, await signingKey());
    const others = provider.callback();
    return (req, res) => {
      if (req.url?.startsWith("/interaction/") !== true) return void others(req, res);
      interact(provider, people, req, res).catch((error: unknown) => {
        if (!res.headersSent) sendPage(res, 400, refusalPage(textOf(error)));
      });
    };
  }
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    const timer = setTimeout(() => server.closeAllConnections(), patienceMs);
    server.closeIdleConnections();
    await closed;
    clearTimeout(timer);
  }
  return {
    issuer,
    clientId: client.id,
    clientSecret: client.secret,
    authorizationEndpoint: `${issuer}/auth`,
    tokenEndpoint: `${issuer}/token`,
    jwksUri: `${issuer}/jwks`,
    stop: () => (stopped ??= stop()),
  };
}

async function signingKey(): Promise<JWK> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const kid = randomBytes(8).toString("base64url");
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" } as JWK;
}

async function made(
  issuer: string,
  client: { readonly id: string; readonly secret: string },
  redirectUris: readonly string[],
  people: readonly DemoPerson[],
  key: JWK,
): Promise<Provider> {
  const { interactionPolicy, Provider } = await import("oidc-provider");
  const policy = interactionPolicy.base();
  // Always ask who the visitor is, because a visitor may want to sign in as another person the next time.
  const ask = (ctx: { oidc: { result?: { login?: unknown } | undefined } }): boolean =>
    ctx.oidc.result?.login === undefined;
  policy.get("login")?.checks.add(new interactionPolicy.Check("always", "asks at every sign-in", ask));
  return new Provider(issuer, {
    adapter: demoProviderStore,
    clients: [
      {
        client_id: client.id,
        client_name: "Expenses",
        client_secret: client.secret,
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    features: {
      devInteractions: { enabled: false },
      // The provider needs this feature when a visitor signs in as another person; the pages of the feature are never
      // shown.
      rpInitiatedLogout: { enabled: true, logoutSource: nothingHere, postLogoutSuccessSource: nothingHere },
    },
    findAccount(_ctx, id) {
      const person = people.find(({ subject }) => subject === id);
      if (person === undefined) return undefined;
      const { subject, email, name } = person;
      return { accountId: id, claims: () => ({ sub: subject, email, email_verified: true, name }) };
    },
    interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
    jwks: { keys: [key] },
    pkce: { required: () => true },
    renderError: (ctx, { error, error_description }) => refuse(ctx, error_description ?? error),
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 3600,
      IdToken: 600,
      Interaction: 600,
      Session: 3600,
    },
  });
}

/** Serves the pages for identity and consent. */
async function interact(
  provider: Provider,
  people: readonly DemoPerson[],
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { uid, prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  const finish = (result: object, mergeWithLastSubmission: boolean): Promise<void> =>
    provider.interactionFinished(req, res, { ...result }, { mergeWithLastSubmission });
  const action = `/interaction/${uid}`;
  const known = people.find(({ subject }) => subject === session?.accountId);
  if (req.method !== "POST") {
    const asksWho = prompt.name === "login" || known === undefined;
    return sendPage(res, 200, asksWho ? whoPage(action, people) : consentPage(action, known));
  }
  const form = await formOf(req);
  if (form.get("answer") !== "yes") return finish({ error: "access_denied" }, false);
  if (prompt.name === "login") {
    const chosen = people.find(({ subject }) => subject === form.get("person"));
    if (chosen === undefined) return sendPage(res, 422, whoPage(action, people));
    return finish({ login: { accountId: chosen.subject } }, false);
  }
  const { Grant } = provider;
  const grant =
    (grantId === undefined ? undefined : await Grant.find(grantId)) ??
    new Grant({ accountId: session?.accountId, clientId: String(params["client_id"]) });
  const { missingOIDCScope: scopes } = prompt.details as { missingOIDCScope?: readonly string[] };
  if (scopes !== undefined) grant.addOIDCScope(scopes.join(" "));
  await finish({ consent: { grantId: await grant.save() } }, true);
}

async function formOf(req: IncomingMessage): Promise<URLSearchParams> {
  let text = "";
  for await (const chunk of req) {
    text += String(chunk);
    if (text.length > mostBytes) throw new Error("the form is too long");
  }
  return new URLSearchParams(text);
}

// The policy omits form-action, because browsers also apply it to the redirect back to the service.
const pageHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
};

type KoaContext = Parameters<NonNullable<Configuration["renderError"]>>[0];

function refuse(ctx: KoaContext, text: string): void {
  ctx.type = "html";
  ctx.set(pageHeaders);
  ctx.body = refusalPage(text);
}

function nothingHere(ctx: KoaContext): void {
  refuse(ctx, "This page does not exist.");
}

function sendPage(res: ServerResponse, status: number, html: string): void {
  res.writeHead(status, { ...pageHeaders, "Content-Type": "text/html; charset=utf-8" }).end(html);
}

function textOf(error: unknown): string {
  const { error_description: text } = error as { error_description?: string };
  return text ?? "This sign-in has expired or was already completed.";
}
