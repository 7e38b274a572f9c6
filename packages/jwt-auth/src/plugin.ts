import { ConfigurationError, takeOptions } from "@svc/options";
import { definePlugin, type PluginContext } from "@svc/plugin";
import type { JwtAuth } from "./jwt-auth.ts";
import { isKeySource } from "./key-input.ts";
import type { KeySource } from "./key-source.ts";
import type { JwtAuthOptions } from "./options.ts";
import { issuersOf } from "./plugin-issuers.ts";
import { type AuthSettings, authOptions } from "./plugin-options.ts";
import type { RevocationCheck } from "./revocation.ts";

export { authOptions } from "./plugin-options.ts";
export { reducedAuth, reducedMode } from "./reduced-profile.ts";

/**
 * The part `signing`, which a plugin that signs tokens provides to this plugin; `refused` if its options are invalid.
 */
export type Signing =
  | "refused"
  | {
      /** Keys that verify tokens and replace the keys of the mode. Default: none. */
      readonly keys: KeySource | undefined;
      /** The store to which sign-outs are written. */
      readonly store: RevocationCheck;
    };

/**
 * The revocation stores from a package of the same layer, which this package must not import. The service provides them
 * as the part `tokenStores`.
 */
export interface RevocationStores {
  /** Returns the store of revoked tokens and sessions that all replicas share (REV-3); undefined without a cache. */
  readonly shared: (() => Promise<RevocationCheck>) | undefined;
}

/** `[plugin.auth]`: verifies the caller's token, as `service.auth`. */
export const authPlugin = definePlugin({
  name: "auth",
  uses: ["cache"],
  options: authOptions,
  async start(context) {
    const { options, service, logger, part } = context;
    const { env, profile } = service;
    refuseInReduced(context, "revocation", "keys");
    const signing = part<Signing>("signing");
    // The signing plugin reports its invalid options. Without its keys, the verifier would report missing keys as well.
    if (signing === "refused") return {};
    const keys = options.keys ?? signing?.keys;
    const { jwtAuth } = await import("./jwt-auth.ts");
    const shared = part<RevocationStores>("tokenStores")?.shared;
    const store = options.revocation ?? signing?.store ?? (await shared?.());
    const several = Object.keys(options.issuers).length > 0;
    const auth: JwtAuth = jwtAuth({
      ...takeOptions(options, ...passedOn),
      ...(several
        ? issuersOf(context, signing !== undefined, store)
        : {
            ...takeOptions(options, "issuer", "audience"),
            ...keyMaterial(options, keys),
            revocation: store,
          }),
      env,
      logger,
    });
    if (profile === "reduced")
      logger.info({}, "tokens are not checked for revocation in the reduced profile");
    return {
      parts: { auth },
      identity: auth,
      checks: [auth.readiness()],
      stop: ["close", () => auth.stop()],
      info: {
        mode: keys === undefined ? options.mode : "keys",
        algorithms: [...auth.verifier.algorithms],
      },
    };
  },
});

const passedOn = [
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
] as const;

/** Returns the keys that verify tokens; if `keys` is set, it replaces the keys of the mode. */
function keyMaterial(
  { mode, secret, publicKey, jwksUrl, ...settings }: AuthSettings,
  keys: JwtAuthOptions["keys"],
): JwtAuthOptions {
  const algorithms = settings.algorithms as JwtAuthOptions["algorithms"];
  if (keys !== undefined) {
    return { keys, algorithms: (isKeySource(keys) ? keys.algorithms : undefined) ?? algorithms };
  }
  // Pass only the key of this mode: an environment file that several services share may also contain keys for other
  // modes.
  const material = { secret: { secret }, public_key: { publicKey }, jwks: { jwksUrl } }[mode];
  return { mode, ...material, algorithms };
}

/**
 * Refuses options that exist only in the full profile. The reduced profile does not check revocation, so revoked tokens
 * would still work (PROF-3).
 *
 * @throws ConfigurationError
 */
export function refuseInReduced<O extends object>(
  { options, service, nameOf }: Pick<PluginContext<O>, "options" | "service" | "nameOf">,
  ...names: readonly (keyof O & string)[]
): void {
  const given = service.profile === "reduced" ? names.filter((name) => options[name] !== undefined) : [];
  if (given.length === 0) return;
  const message =
    "is available only in the full profile; the reduced profile verifies tokens only with a secret or a public key";
  throw new ConfigurationError(
    "createService()",
    given.map((name) => ({ key: nameOf(name), message })),
  );
}
