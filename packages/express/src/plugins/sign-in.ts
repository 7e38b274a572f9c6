import { hkdfSync } from "node:crypto";
import { type Middleware, setRouteTemplate } from "@svc/context";
import type { OidcLogin } from "@svc/oidc-login";
import { ConfigurationError, takeOptions } from "@svc/options";
import type { PluginContext, PluginParts } from "@svc/plugin";
import type { AuthSettings } from "./auth-options.ts";

/** The largest clock skew for ID tokens, in seconds. */
const mostLeewaySeconds = 300;

/** Returns the routes of the providers and the check of their keys; undefined without a provider (OIDC-1, OIDC-15). */
export async function signInParts(context: PluginContext<AuthSettings>): Promise<PluginParts | undefined> {
  const { options: settings, service, logger, hasRoute } = context;
  const names = Object.keys(settings.providers);
  if (names.length === 0) {
    // This is not a fault, because only some environments may have providers.
    if (settings.onIdentity !== undefined)
      logger.info({}, "onIdentity is never called: no provider is configured");
    return undefined;
  }
  const { oidcLogin } = await import("@svc/oidc-login");
  const login = sayingWhereSecretsAre(context, () =>
    oidcLogin({
      ...takeOptions(settings, "providers", "onIdentity", "onAccessToken"),
      cookieSecret: cookieSecretsOf(settings),
      leewaySeconds: Math.min(settings.leewaySeconds, mostLeewaySeconds),
      env: service.env,
      logger,
    }),
  );
  return {
    behindBody: signInRoutes(login, names, hasRoute),
    checks: [login.readiness()],
    stop: ["close", () => login.stop()],
  };
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
function sayingWhereSecretsAre(
  { options: settings, nameOf }: PluginContext<AuthSettings>,
  make: () => OidcLogin,
): OidcLogin {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || cookieSecretsOf(settings).length > 0) throw error;
    const secretKey = nameOf("cookieSecret");
    const message =
      "is required by plugin.auth.providers: at least 32 bytes, drawn at random, the same in every replica, " +
      'usually a reference such as ${COOKIE_SECRET}; it can be left out with mode = "secret"';
    const others = error.faults.filter(({ key }) => key !== secretKey);
    throw new ConfigurationError("the service", [{ key: secretKey, message }, ...others]);
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
