import { hkdfSync } from "node:crypto";
import { type Middleware, setRouteTemplate } from "@svc/context";
import type { OidcLogin, ProviderOptions } from "@svc/oidc-login";
import { ConfigurationError } from "@svc/options";
import { authOptions, type AuthSettings } from "./auth-table.ts";
import { loggerAsConfigured, namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "@svc/plugin";
import type { ProviderSettings } from "./provider-table.ts";

/** The largest clock skew for ID tokens, in seconds. */
const mostLeewaySeconds = 300;

/** Returns the routes of the providers and the check of their keys; undefined without a provider (OIDC-1, OIDC-15). */
export async function signInParts({
  options: settings,
  service,
  logger,
  hasRoute,
}: PluginContext<AuthSettings>): Promise<PluginParts | undefined> {
  const { env, profile } = service;
  const { onIdentity, onAccessToken } = settings;
  const names = Object.keys(settings.providers);
  if (names.length === 0) {
    // This is not a fault, because only some environments may have providers.
    if (onIdentity !== undefined) logger.info({}, "onIdentity is never called: no provider is configured");
    return undefined;
  }
  const { oidcLogin } = await import("@svc/oidc-login");
  const code = ["onIdentity", "onAccessToken"];
  const by = { plugin: "auth", table: authOptions, profile, code, maker: "oidcLogin()" } as const;
  const login = namedAsConfigured(by, () =>
    sayingWhereSecretsAre(settings, () =>
      oidcLogin({
        providers: Object.fromEntries(
          Object.entries(settings.providers).map(([name, each]) => [name, providerOptions(each)]),
        ),
        cookieSecret: cookieSecretsOf(settings),
        onIdentity,
        onAccessToken,
        leewaySeconds: Math.min(settings.leewaySeconds, mostLeewaySeconds),
        env,
        logger: loggerAsConfigured(by, logger),
      }),
    ),
  );
  return {
    behindBody: signInRoutes(login, names, hasRoute),
    checks: [login.readiness()],
    stop: ["close", () => login.stop()],
  };
}

function providerOptions(settings: ProviderSettings): ProviderOptions {
  return { ...settings, algorithms: settings.algorithms as ProviderOptions["algorithms"] };
}

/** Returns the secrets of the login cookie, which may be none (OIDC-6). */
function cookieSecretsOf({ cookieSecret, mode, secret }: AuthSettings): readonly string[] {
  // The variable for the previous secret is usually not set.
  const given = (typeof cookieSecret === "string" ? [cookieSecret] : (cookieSecret ?? [])).filter(
    (each) => each !== "",
  );
  if (given.length > 0 || mode !== "secret" || secret === undefined) return given;
  return [Buffer.from(hkdfSync("sha256", secret, "", "svc sign-in cookie secret 1", 32)).toString("hex")];
}

/** Runs a factory that needs the secrets; without secrets, adds a fault with the remedy to its other faults (CFG-12). */
function sayingWhereSecretsAre(settings: AuthSettings, make: () => OidcLogin): OidcLogin {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || cookieSecretsOf(settings).length > 0) throw error;
    const message =
      "is required by plugin.auth.providers: at least 32 bytes, drawn at random, the same in every replica, " +
      'usually a reference such as ${COOKIE_SECRET}; it can be left out with mode = "secret"';
    const others = error.faults.filter(({ key }) => key !== "cookieSecret");
    throw new ConfigurationError("the service", [{ key: "cookieSecret", message }, ...others]);
  }
}

/**
 * Returns the routes of the providers, which metrics count by their paths. Refuses an unknown provider name (OIDC-12),
 * unless the application has a route for it.
 */
function signInRoutes(
  login: OidcLogin,
  names: readonly string[],
  hasRoute: PluginContext["hasRoute"],
): Middleware {
  const routes = new Set(names.flatMap((name) => [`/auth/${name}/start`, `/auth/${name}/callback`]));
  return function signIn(req, res, next) {
    const target = req.url ?? "";
    const query = target.indexOf("?");
    const path = query === -1 ? target : target.slice(0, query);
    if (routes.has(path)) setRouteTemplate(req, path);
    else if (/^\/auth\/[^/]+\/(?:start|callback)$/.test(path) && hasRoute(path)) return next();
    login(req, res, next);
  };
}
