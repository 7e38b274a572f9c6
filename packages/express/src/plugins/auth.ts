import type { Cache } from "@svc/cache";
import type { Middleware } from "@svc/context";
import type { JwtAuth, JwtAuthOptions, KeySource } from "@svc/jwt-auth";
import { ConfigurationError, takeOptions } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts } from "@svc/plugin";
import type { TokenIssuer } from "@svc/token-issuer";
import { compose } from "../compose.ts";
import { authOptions, type AuthCode, type AuthSettings } from "./auth-options.ts";
import { issuerParts, issuingParts, sharedStore, stopIssuing } from "./issuing.ts";
import { signInParts } from "./sign-in.ts";

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
  return present.length > 1 ? compose(present) : present[0];
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
  const { revocation: check, keys: ownKeys } = settings;
  const { jwtAuth } = await import("@svc/jwt-auth");
  refuseInReduced(profile, settings);
  if (settings.onRefresh !== undefined && !settings.issueTokens) refuseHook();
  if (settings.signingKeys !== undefined && !settings.issueTokens) refuseSigningKeys();
  const issuing = await issuingParts(context, cache);
  const revocation = check ?? issuing?.store ?? (cache && (await sharedStore(cache)));
  const auth = jwtAuth({
    ...takeOptions(
      settings,
      "issuer",
      "audience",
      "leewaySeconds",
      "tenantClaim",
      "scopeClaim",
      "rolesClaim",
      "revocationFailOpen",
      "jwksTimeoutSeconds",
      "jwksAttempts",
      "jwksBreakerFailures",
      "jwksBreakerCoolDownSeconds",
      "cacheTokens",
      "tokenFrom",
    ),
    ...keyMaterial(settings, ownKeys ?? issuing?.keys),
    revocation,
    env,
    logger,
  });
  if (profile === "reduced") logger.info({}, "tokens are not checked for revocation in the reduced profile");
  const issuer = issuing && (await issuerParts(issuing, context));
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

/** Returns the keys that verify tokens; given keys replace those of the mode. */
function keyMaterial(
  { mode, secret, publicKey, jwksUrl, ...settings }: AuthSettings,
  keys: KeySource | undefined,
): JwtAuthOptions {
  const algorithms = settings.algorithms as JwtAuthOptions["algorithms"];
  if (keys !== undefined) return { keys, algorithms: keys.algorithms ?? algorithms };
  // A file of variables that several services share may contain keys for other modes.
  const material = { secret: { secret }, public_key: { publicKey }, jwks: { jwksUrl } }[mode];
  return { mode, ...material, algorithms };
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
