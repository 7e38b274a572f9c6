import type { Cache } from "@svc/cache";
import type { EnvironmentName } from "@svc/config";
import type { JwtAuth, KeySource, RevocationCheck } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import type { KeyRing, RefreshHook, TokenIssuer } from "@svc/token-issuer";
import type { TokenStore } from "@svc/token-store";
import type { AuthSettings } from "./auth.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** What a service that issues tokens has beside one that only verifies them. */
export interface Issuing {
  readonly ring: KeyRing;
  /** The ring where it verifies bearer tokens too: a service that signs with a file of keys has no other. */
  readonly keys: KeySource | undefined;
  readonly store: TokenStore & RevocationCheck;
}

/** The store of revocations, and the keys to sign with where tokens are issued. */
export async function issuingParts(
  settings: AuthSettings,
  { env, logger }: PluginContext,
  cache: Cache | undefined,
): Promise<Issuing | undefined> {
  if (!settings.issueTokens) return undefined;
  refuseWithout(settings, env, cache);
  const { createKeyRing } = await import("@svc/token-issuer");
  const { mode, secret, signingKeys } = settings;
  const lifetimes = { env, logger } as const;
  const ring =
    signingKeys === undefined
      ? createKeyRing({ secret, algorithm: hmacOf(settings), ...lifetimes })
      : createKeyRing({ file: signingKeys, ...lifetimes });
  const keys = mode === "secret" && signingKeys === undefined ? undefined : ring;
  return { ring, keys, store: await storeFor(cache, logger) };
}

/** The issuer itself, and its routes. */
export async function issuerParts(
  { ring, store }: Issuing,
  settings: AuthSettings,
  { env, logger }: PluginContext,
  onRefresh: RefreshHook | undefined,
): Promise<Pick<PluginParts, "behindBody"> & { readonly issuer: TokenIssuer }> {
  const { authRoutes, createTokenIssuer } = await import("@svc/token-issuer");
  const issuer = createTokenIssuer({
    keys: ring,
    store,
    issuer: settings.issuer,
    audience: settings.audience,
    scopeClaim: settings.scopeClaim,
    rolesClaim: settings.rolesClaim,
    tenantClaim: settings.tenantClaim,
    accessLifetimeMinutes: settings.accessLifetimeMinutes,
    refreshLifetimeDays: settings.refreshLifetimeDays,
    refreshGraceSeconds: settings.refreshGraceSeconds,
    sessionLifetimeDays: settings.sessionLifetimeDays,
    leewaySeconds: settings.leewaySeconds,
    onRefresh,
    env,
    logger,
  });
  return { issuer, behindBody: authRoutes(issuer) };
}

/** What ends with the service. */
export function stopIssuing(auth: JwtAuth, issuing: Issuing | undefined): () => Promise<void> {
  return async () => {
    auth.stop();
    issuing?.ring.stop();
    await issuing?.store.stop?.();
  };
}

async function storeFor(
  cache: Cache | undefined,
  logger: PluginContext["logger"],
): Promise<TokenStore & RevocationCheck> {
  if (cache === undefined) {
    const { createMemoryTokenStore } = await import("@svc/token-store");
    return createMemoryTokenStore({ logger });
  }
  return sharedStore(cache);
}

/** What every replica that shares the cache knows of revoked tokens and sessions (REV-3). */
export async function sharedStore({ redis }: Cache): Promise<TokenStore & RevocationCheck> {
  const { createRedisTokenStore } = await import("@svc/token-store/redis");
  return createRedisTokenStore({ redis });
}

// ISS-16; and a public key or a key set of somebody else cannot sign.
function refuseWithout(
  { mode, secret, signingKeys }: AuthSettings,
  env: EnvironmentName,
  cache: Cache | undefined,
): void {
  const key = "plugin.auth.issue_tokens";
  if (signingKeys === undefined && (mode !== "secret" || secret === undefined)) {
    const message = `needs a key to sign with: set plugin.auth.signing_keys to a file of svc-keys, or mode = "secret"`;
    throw new ConfigurationError("the service", [{ key, message }]);
  }
  if (env === "prod" && cache === undefined) {
    const message =
      "needs a store that all replicas share in prod, or a sign-out would reach one of them alone; enable the plugin cache";
    throw new ConfigurationError("the service", [{ key, message }]);
  }
}

function hmacOf({ algorithms }: AuthSettings): "HS256" | "HS384" | "HS512" | undefined {
  const [first] = algorithms;
  return first === "HS256" || first === "HS384" || first === "HS512" ? first : undefined;
}
