import type { Cache } from "@svc/cache";
import type { Middleware } from "@svc/context";
import type { JwtAuth, JwtAuthOptions, KeySource } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import type { AccessTokenHandler, IdentityHandler } from "@svc/oidc-login";
import { definePlugin, type PluginContext, type PluginParts } from "@svc/plugin";
import type { RefreshHook, TokenIssuer } from "@svc/token-issuer";
import { authOptions, type AuthSettings } from "./auth-table.ts";
import { compose } from "../compose.ts";
import { issuerParts, issuingParts, sharedStore, stopIssuing } from "./issuing.ts";
import { asConfigured, namedAsConfigured } from "./named-as-configured.ts";
import { signInParts } from "./sign-in.ts";

/**
 * The options of `[plugin.auth]` that need code. With `issue_tokens`, `revocation` must be a complete token store, because
 * sign-outs are written to it (ISS-5). The service does not stop it.
 */
export interface AuthCode extends Pick<JwtAuthOptions, "revocation" | "tokenFrom" | "keys"> {
  /** Called at every refresh; returns the current rights of the session (REF-9). Needs `issue_tokens`. */
  readonly onRefresh?: RefreshHook | undefined;
  /**
   * Creates a session for the identity of a person who has signed in at a provider. Its result is sent as 200 JSON, unless
   * it has sent a response itself (OIDC-10, OIDC-14). Default: none, every callback answers 500.
   */
  readonly onIdentity?: IdentityHandler | undefined;
  /** Returns the identity for an access token of a provider without ID tokens, such as `github` (OIDC-18). Default: none. */
  readonly onAccessToken?: AccessTokenHandler | undefined;
}

/** `[plugin.auth]`: the verifier as `service.auth`, the issuer as `service.issuer`, and sign-in through providers. */
export const authPlugin = definePlugin({
  name: "auth",
  uses: ["cache"],
  options: authOptions,
  async start(context) {
    const { attempt } = context;
    const verifying = await attempt(() => authParts(context));
    // Sign-in comes second, so that the faults of both are listed.
    const signIn = await attempt(() => signInParts(context));
    return {
      ...verifying,
      behindBody: together(verifying?.behindBody, signIn?.behindBody),
      checks: [...(verifying?.checks ?? []), ...(signIn?.checks ?? [])],
      stop: [
        "close",
        async (signal) => {
          await verifying?.stop?.[1](signal);
          await signIn?.stop?.[1](signal);
        },
      ],
    };
  },
});

function together(...layers: readonly (Middleware | undefined)[]): Middleware | undefined {
  const present = layers.filter((layer) => layer !== undefined);
  return present.length === 0 ? undefined : compose(present);
}

/** The members of a service that the plugin adds. */
export interface AuthMembers {
  readonly auth: JwtAuth;
  readonly issuer: TokenIssuer | undefined;
}

/** Returns the middleware that verifies the caller's token, and the issuer if the service issues tokens. */
async function authParts(context: PluginContext<AuthSettings>): Promise<PluginParts<AuthMembers>> {
  const { options: settings, service, logger, part } = context;
  const { env, profile } = service;
  const cache = part<Cache>("cache");
  const given: AuthCode = settings;
  const { jwtAuth } = await import("@svc/jwt-auth");
  refuseInReduced(profile, given);
  const { revocation: check, tokenFrom, keys: ownKeys, onRefresh } = given;
  if (onRefresh !== undefined && !settings.issueTokens) refuseHook();
  if (settings.signingKeys !== undefined && !settings.issueTokens) refuseSigningKeys();
  const ofCode = ["revocation", "tokenFrom", "keys", "onRefresh"];
  const named = { plugin: "auth", table: authOptions, profile, code: ofCode } as const;
  const issuing = await asConfigured(named, () => issuingParts(context, cache, check));
  const revocation = check ?? issuing?.store ?? (cache && (await sharedStore(cache)));
  const auth = namedAsConfigured(named, () =>
    jwtAuth({
      ...verification(settings, ownKeys ?? issuing?.keys),
      tokenFrom,
      revocation,
      env,
      logger,
    }),
  );
  if (profile === "reduced") logger.info({}, "tokens are not checked for revocation in the reduced profile");
  const issuer = issuing && (await asConfigured(named, () => issuerParts(issuing, context, onRefresh)));
  // The check `auth` covers a store in Redis; a store in the process has a separate note (RDY-23).
  const notes = issuing?.ownsStore === true && cache === undefined ? [issuing.store.readiness?.()] : [];
  return {
    parts: { auth, issuer: issuer?.issuer },
    identity: auth,
    behindBody: issuer?.behindBody,
    checks: [auth.readiness(), issuing?.ring.readiness(), ...notes].filter((each) => each !== undefined),
    stop: ["close", stopIssuing(auth, issuing)],
    info: {
      mode: auth.verifier.keys === issuing?.keys || ownKeys !== undefined ? "keys" : settings.mode,
      algorithms: [...auth.verifier.algorithms],
      ...(issuer === undefined ? {} : { issues: true }),
    },
  };
}

/** Returns the options of `jwtAuth()`; given keys replace those of the mode. */
function verification(settings: AuthSettings, keys: KeySource | undefined): JwtAuthOptions {
  const { mode, issuer, audience } = settings;
  // A file of variables that several services share may contain keys for other modes.
  const material = {
    secret: { mode, secret: settings.secret },
    public_key: { mode, publicKey: settings.publicKey },
    jwks: { mode, jwksUrl: settings.jwksUrl },
  }[mode];
  const algorithms = settings.algorithms as JwtAuthOptions["algorithms"];
  return {
    ...(keys === undefined
      ? { ...material, algorithms }
      : { keys, algorithms: keys.algorithms ?? algorithms }),
    issuer: issuer === "" ? undefined : issuer,
    audience: audience.length === 0 ? undefined : audience,
    leewaySeconds: settings.leewaySeconds,
    tenantClaim: settings.tenantClaim,
    scopeClaim: settings.scopeClaim,
    rolesClaim: settings.rolesClaim,
    revocationFailOpen: settings.revocationFailOpen,
    jwksTimeoutSeconds: settings.jwksTimeoutSeconds,
    jwksAttempts: settings.jwksAttempts,
    jwksBreakerFailures: settings.jwksBreakerFailures,
    jwksBreakerCoolDownSeconds: settings.jwksBreakerCoolDownSeconds,
    cacheTokens: settings.cacheTokens,
  };
}

function refuseHook(): never {
  const key = "auth.onRefresh";
  const message =
    "is of no use in a service that issues no tokens; set plugin.auth.issue_tokens or take it away";
  throw new ConfigurationError("createService()", [{ key, message }]);
}

function refuseSigningKeys(): never {
  const key = "plugin.auth.signing_keys";
  const message =
    "is of no use in a service that issues no tokens; set plugin.auth.issue_tokens or take it away";
  throw new ConfigurationError("the service", [{ key, message }]);
}

// Fail at the start, because the profile does not check revocation and revoked tokens would still work (PROF-3).
function refuseInReduced(profile: "full" | "reduced", code: AuthCode): void {
  if (profile === "full") return;
  const keys = (["revocation", "keys", "onIdentity", "onAccessToken"] as const).filter(
    (key) => code[key] !== undefined,
  );
  if (keys.length === 0) return;
  const message =
    "belongs to the full profile; the reduced one verifies tokens with a secret or a public key alone";
  throw new ConfigurationError(
    "createService()",
    keys.map((key) => ({ key: `auth.${key}`, message })),
  );
}
