import { hkdfSync } from "node:crypto";
import { type Middleware, setRouteTemplate } from "@svc/context";
import { authOptions, refuseInReduced } from "@svc/jwt-auth/plugin";
import {
  ConfigurationError,
  defineOptions,
  kinds as k,
  pickOptions,
  type ResolvedOptions,
  takeOptions,
} from "@svc/options";
import { definePlugin, type PluginContext } from "@svc/plugin";
import type { OidcLogin } from "./oidc-login.ts";
import { oidcLoginOptions, providerOptions } from "./options.ts";

const inProvider = providerOptions.keys;

const inFile = defineOptions("[plugin.auth.providers]", {
  ...inProvider,
  // Check only the types, because the table of a disabled plugin is checked too; oidcLogin() checks the values.
  scopes: { ...inProvider.scopes, kind: k.optional(k.listOf(k.string())) },
  directory: { ...inProvider.directory, kind: k.optional(k.string()) },
  directories: { ...inProvider.directories, kind: k.optional(k.listOf(k.string())) },
  /** Additional parameters of the redirect. Default: none. */
  authorizationParameters: {
    ...inProvider.authorizationParameters,
    kind: k.optional({
      ...inProvider.authorizationParameters.kind,
      expects: 'a table of strings, such as { prompt = "login" }',
    }),
  },
});

const signInOptions = defineOptions("[plugin.auth]", {
  ...pickOptions(authOptions, "mode", "secret", "leewaySeconds"),
  /**
   * The secret that encrypts the login cookie, or a list of the current and the previous secret (OIDC-6). Default: derived
   * from `secret` in mode `secret`, else none.
   */
  cookieSecret: {
    ...oidcLoginOptions.keys.cookieSecret,
    kind: k.secret(k.optional(k.either(k.string(), k.listOf(k.string({ allowEmpty: true }))))),
  },
  /** The sign-in providers, by name (OIDC-15). Default: none. */
  providers: { key: "providers", each: inFile },
  ...pickOptions(oidcLoginOptions, "onIdentity", "onAccessToken"),
});

type SignInSettings = ResolvedOptions<(typeof signInOptions)["keys"]>;
type Context = PluginContext<SignInSettings>;

/** The maximum of `leewaySeconds` that `oidcLogin()` accepts. */
const mostLeewaySeconds = 300;

/** The part of `[plugin.auth]` for sign-in through providers: routes and readiness check (OIDC-1, OIDC-15). */
export const signInPlugin = definePlugin({
  name: "auth",
  options: signInOptions,
  async start(context) {
    const { options, service, logger, hasRoute } = context;
    refuseInReduced(context, "onIdentity", "onAccessToken");
    const names = Object.keys(options.providers);
    if (names.length === 0) {
      // This is not a fault, because only some environments may have providers.
      if (options.onIdentity !== undefined)
        logger.info({}, "onIdentity is never called: no provider is configured");
      return {};
    }
    const { oidcLogin } = await import("./oidc-login.ts");
    const login = sayingWhereSecretsAre(context, () =>
      oidcLogin({
        ...takeOptions(options, "providers", "onIdentity", "onAccessToken"),
        cookieSecret: cookieSecretsOf(options),
        leewaySeconds: Math.min(options.leewaySeconds, mostLeewaySeconds),
        env: service.env,
        logger,
      }),
    );
    return {
      behindBody: signInRoutes(login, names, hasRoute),
      checks: [login.readiness()],
      stop: ["close", () => login.stop()],
    };
  },
});

/** Returns the secrets of the login cookie; the list may be empty (OIDC-6). */
function cookieSecretsOf({ cookieSecret, mode, secret }: SignInSettings): readonly string[] {
  // Drop empty entries: the variable for the previous secret is usually not set.
  const given = (typeof cookieSecret === "string" ? [cookieSecret] : (cookieSecret ?? [])).filter(
    (each) => each !== "",
  );
  if (given.length > 0 || mode !== "secret" || secret === undefined) return given;
  return [Buffer.from(hkdfSync("sha256", secret, "", "svc sign-in cookie secret 1", 32)).toString("hex")];
}

/** Returns the result of `make()`. If no secret is set, the error that it throws also names the remedy (CFG-12). */
function sayingWhereSecretsAre({ options: settings, nameOf }: Context, make: () => OidcLogin): OidcLogin {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || cookieSecretsOf(settings).length > 0) throw error;
    const secretKey = nameOf("cookieSecret");
    const message =
      "is required by plugin.auth.providers: set it to at least 32 random bytes, the same in every replica, " +
      'usually with a reference such as ${COOKIE_SECRET}; it is optional with mode = "secret"';
    const others = error.faults.filter(({ key }) => key !== secretKey);
    throw new ConfigurationError("the service", [{ key: secretKey, message }, ...others]);
  }
}

/**
 * Returns middleware for the providers' routes, and sets their paths as route templates for metrics. Responds 404 to an
 * unknown provider name (OIDC-12), unless the application has a route for the path.
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
