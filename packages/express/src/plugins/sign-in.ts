import { hkdfSync } from "node:crypto";
import { type Middleware, setRouteTemplate } from "@svc/context";
import type { OidcLogin, OidcLoginOptions, ProviderOptions } from "@svc/oidc-login";
import { ConfigurationError } from "@svc/options";
import type { AuthCode } from "./auth.ts";
import { type AuthSettings, authTable } from "./auth-table.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import type { ProviderSettings } from "./provider-table.ts";

/** The largest difference of clocks that ID tokens are allowed, in seconds. */
const mostLeewaySeconds = 300;

/** What of the code sign-in through providers takes. */
export type SignInCode = Pick<AuthCode, "onIdentity" | "onAccessToken">;

/** The routes of the providers, and the check of their keys; undefined where none is configured (OIDC-1, OIDC-15). */
export async function signInParts(
  settings: AuthSettings,
  { env, logger, profile }: PluginContext,
  { onIdentity, onAccessToken }: SignInCode = {},
): Promise<PluginParts | undefined> {
  const names = Object.keys(settings.providers);
  if (names.length === 0) {
    // No fault: one environment may have providers, another none.
    if (onIdentity !== undefined) logger.info({}, "onIdentity is never called: no provider is configured");
    return undefined;
  }
  const { oidcLogin } = await import("@svc/oidc-login");
  const code = ["onIdentity", "onAccessToken"];
  const login = namedAsConfigured({ plugin: "auth", table: authTable, profile, code }, () =>
    oidcLogin({
      providers: Object.fromEntries(
        Object.entries(settings.providers).map(([name, each]) => [name, providerOptions(each)]),
      ),
      cookieSecret: cookieSecretOf(settings),
      onIdentity,
      onAccessToken,
      leewaySeconds: Math.min(settings.leewaySeconds, mostLeewaySeconds),
      env,
      logger,
    }),
  );
  return {
    behindBody: countedByRoute(login, names),
    checks: [login.readiness()],
    onStop: ["close", () => login.stop()],
  };
}

function providerOptions(settings: ProviderSettings): ProviderOptions {
  return { ...settings, algorithms: settings.algorithms as ProviderOptions["algorithms"] };
}

/** What the login cookie is encrypted with (OIDC-6). */
function cookieSecretOf({ cookieSecret, mode, secret }: AuthSettings): OidcLoginOptions["cookieSecret"] {
  // The one before may be a variable that is not set most of the time.
  const given = (typeof cookieSecret === "string" ? [cookieSecret] : (cookieSecret ?? [])).filter(
    (each) => each !== "",
  );
  if (given.length > 0) return given;
  if (mode === "secret" && secret !== undefined)
    return Buffer.from(hkdfSync("sha256", secret, "", "svc sign-in cookie secret 1", 32)).toString("hex");
  const message =
    "is required by plugin.auth.providers: at least 32 bytes, drawn at random, the same in every replica, " +
    'usually a reference such as ${COOKIE_SECRET}; it can be left out with mode = "secret"';
  throw new ConfigurationError("the service", [{ key: "cookieSecret", message }]);
}

/** Has the routes counted by their paths, of which there are as many as providers. */
function countedByRoute(login: OidcLogin, names: readonly string[]): Middleware {
  const routes = new Set(names.flatMap((name) => [`/auth/${name}/start`, `/auth/${name}/callback`]));
  return function signIn(req, res, next) {
    const target = req.url ?? "";
    const query = target.indexOf("?");
    const path = query === -1 ? target : target.slice(0, query);
    if (routes.has(path)) setRouteTemplate(req, path);
    login(req, res, next);
  };
}
