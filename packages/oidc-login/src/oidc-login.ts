import type { IncomingMessage, ServerResponse } from "node:http";
import { type CheckResult, contextOf, type Middleware, type ReadinessCheck } from "@svc/context";
import { internalError, methodNotAllowed, notFoundError, ProblemError, sendJson } from "@svc/problem";
import { safeLogger } from "@svc/resilience";
import { attemptCookies } from "./attempt-cookie.ts";
import { attemptCookieOf, type CallbackParts, finishLogin } from "./callback.ts";
import { clientOf, codeExchange } from "./code-exchange.ts";
import { idTokens } from "./id-token.ts";
import type { LoginIdentity } from "./identity.ts";
import { setLastingCookies } from "./lasting-cookies.ts";
import type { OidcLoginOptions } from "./options.ts";
import { LoginError, problemOf } from "./refusals.ts";
import { resolveOidcLoginOptions } from "./resolve-options.ts";
import { startLogin } from "./start.ts";

/** Middleware that serves the routes of sign-in through external providers. */
export interface OidcLogin extends Middleware, AsyncDisposable {
  /** Returns the readiness check `oidc-login`, which reports the state of the providers' keys and is never critical. */
  readiness(): ReadinessCheck;
  /** Cancels running key fetches. */
  stop(): void;
}

/**
 * Serves sign-in through external providers: `GET <prefix>/<provider>/start` and `/callback` for every provider
 * (OIDC-1). Fetches nothing before the first sign-in, and keeps attempts in cookies instead of memory.
 *
 * @throws ConfigurationError that lists all faults, by provider and key
 */
export function oidcLogin(options: OidcLoginOptions): OidcLogin {
  const settings = resolveOidcLoginOptions(options);
  const { onIdentity, onAccessToken, logger, prefix, env, leewaySeconds } = settings;
  const cookies = attemptCookies(settings.cookieSecrets, env === "staging" || env === "prod");
  const nowSeconds = (): number => Math.floor(settings.now() / 1000);
  const flows = new Map(
    [...settings.providers].map(([name, provider]) => {
      const client = clientOf(provider, settings.fetch, settings.exchangeTimeoutMs);
      const tokens = idTokens(provider, settings);
      const exchange = codeExchange(provider, client);
      const start = startLogin(provider, client, cookies, { nowSeconds, leewaySeconds });
      return [name, { provider, exchange, tokens, start, onAccessToken, nowSeconds, leewaySeconds }];
    }),
  );
  warnOfGaps();

  function oidcLoginMiddleware(req: IncomingMessage, res: ServerResponse, next: Next): void {
    const route = loginRoute(prefix, req.url);
    if (route === undefined) return next();
    const flow = flows.get(route.provider);
    if (flow === undefined) return next(unknownProvider());
    if (req.method !== "GET") return next(methodNotAllowed(["GET"]));
    try {
      if (route.action === "start") {
        // Fetch the keys while the person signs in at the provider.
        if (flow.provider.kind !== "oauth") flow.tokens.prepare();
        return flow.start(req, res, route.query);
      }
      callback(flow, req, res, route.query).catch(next);
    } catch (error) {
      next(error);
    }
  }

  async function callback(
    flow: CallbackParts,
    req: IncomingMessage,
    res: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    res.setHeader("Cache-Control", "no-store");
    // A page sent from this URL would leak the code in its `Referer`.
    res.setHeader("Referrer-Policy", "no-referrer");
    const cookie = attemptCookieOf(cookies, req, query);
    if (cookie !== undefined) setLastingCookies(res, [cookies.forget(cookie.name)]);
    if (onIdentity === undefined) throw noHandler();
    const attempt = cookie === undefined ? undefined : cookies.open(cookie.name, cookie.value);
    let identity: LoginIdentity;
    try {
      identity = await finishLogin(flow, query, attempt);
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;
      logRefusal(req, flow.provider.name, error);
      throw problemOf(error);
    }
    const value = await onIdentity(identity, req, res);
    if (res.headersSent || res.writableEnded || value === res) return;
    if (value === undefined) throw nothingReturned();
    sendJson(req, res, 200, value);
  }

  function logRefusal(req: IncomingMessage, provider: string, { reason, at, unavailable }: LoginError): void {
    const context = contextOf(req);
    const fields = {
      provider,
      reason,
      ...(at === undefined ? {} : { at }),
      ...(context === undefined || context.requestId === "" ? {} : { request_id: context.requestId }),
    };
    // A logger that throws must not affect the response.
    safeLogger(context?.log ?? logger)?.[unavailable ? "warn" : "info"](fields, "sign-in refused");
  }

  function warnOfGaps(): void {
    const log = safeLogger(logger);
    const { subject, of: named } = settings.names;
    if (onIdentity === undefined)
      log?.warn({}, `${subject} has no ${named("onIdentity")}: every callback will return 500`);
    for (const [name, { provider }] of flows) {
      if (provider.kind === "oauth" && onAccessToken === undefined)
        log?.warn(
          { provider: name },
          `${subject} has no ${named("onAccessToken")}: sign-ins with this provider will be refused`,
        );
      // Log only a warning, because a gateway may map the registered path to this service's route.
      if (!new URL(provider.redirectUri).pathname.endsWith(`/${name}/callback`))
        log?.warn(
          { provider: name },
          `${named(`providers.${name}.redirectUri`)} does not end in /<provider>/callback, which is the route of this service`,
        );
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    const states = await Promise.all(
      [...flows].map(async ([name, { tokens }]) => ({ name, ...(await tokens.state(signal)) })),
    );
    return {
      healthy: states.every(({ healthy }) => healthy),
      critical: false,
      detail: states.map(({ name, detail }) => `${name}: ${detail}`).join("; "),
    };
  }

  return Object.assign(oidcLoginMiddleware, {
    // Never critical, because people who are already signed in do not need a provider.
    readiness: (): ReadinessCheck => ({ name: "oidc-login", critical: false, check }),
    stop,
    [Symbol.asyncDispose]: async () => stop(),
  });

  function stop(): void {
    for (const { tokens } of flows.values()) tokens.stop();
  }
}

type Next = (err?: unknown) => void;

function noHandler(): ProblemError {
  // The only 500 with a specific detail (OIDC-11): it names a configuration fault and contains no secret.
  return new ProblemError(500, "no handler for identities is registered: pass onIdentity to oidcLogin()", {
    code: "ERR_SVC_LOGIN_HANDLER",
  });
}

function unknownProvider(): ProblemError {
  return notFoundError("there is no such sign-in provider", { code: "ERR_SVC_LOGIN_PROVIDER" });
}

function nothingReturned(): ProblemError {
  const cause = new TypeError("onIdentity() returned nothing and sent no response");
  return internalError({ code: "ERR_SVC_LOGIN_HANDLER", cause });
}

/** Parses the path of a request to one of a provider's two routes; undefined for any other path. */
export function loginRoute(prefix: string, target: string | undefined) {
  if (target === undefined || !target.startsWith(`${prefix}/`)) return undefined;
  const question = target.indexOf("?");
  const path = question === -1 ? target : target.slice(0, question);
  const [provider, action, ...more] = path.slice(prefix.length + 1).split("/");
  if (provider === undefined || provider === "" || more.length > 0) return undefined;
  if (action !== "start" && action !== "callback") return undefined;
  const query = new URLSearchParams(question === -1 ? "" : target.slice(question + 1));
  return { provider, action, query };
}
