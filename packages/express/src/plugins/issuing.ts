import type { Cache } from "@svc/cache";
import type { JwtAuth, KeySource, RevocationCheck } from "@svc/jwt-auth";
import { ConfigurationError, takeOptions, withNames } from "@svc/options";
import type { PluginContext, PluginParts } from "@svc/plugin";
import type { KeyRing, TokenIssuer } from "@svc/token-issuer";
import type { TokenStore } from "@svc/token-store";
import type { AuthSettings } from "./auth-options.ts";

/** The additional parts of a service that issues tokens. */
export interface Issuing {
  readonly ring: KeyRing;
  /** The key ring, when it also verifies bearer tokens, as in a service that signs with a file of keys. */
  readonly keys: KeySource | undefined;
  readonly store: TokenStore & RevocationCheck;
  /** Whether the service made the store and has to stop it. */
  readonly ownsStore: boolean;
}

/** Returns the revocation store and the signing keys; undefined when the service issues no tokens. */
export async function issuingParts(
  context: PluginContext<AuthSettings>,
  cache: Cache | undefined,
): Promise<Issuing | undefined> {
  const { options: settings, logger } = context;
  const { env } = context.service;
  const { mode, signingKeys, revocation: given } = settings;
  if (!settings.issueTokens) return undefined;
  if (given !== undefined && !isTokenStore(given)) refuseCheckAlone();
  refuseWithout(context, given ?? cache);
  const { createKeyRing } = await import("@svc/token-issuer");
  const lifetimes = { env, logger } as const;
  const ring =
    signingKeys === undefined
      ? createKeyRing({ ...takeOptions(settings, "secret"), algorithm: hmacOf(settings), ...lifetimes })
      : createKeyRing({ file: signingKeys, ...lifetimes });
  const keys = mode === "secret" && signingKeys === undefined ? undefined : ring;
  return { ring, keys, store: given ?? (await storeFor(cache, logger)), ownsStore: given === undefined };
}

/** Returns the issuer and its routes. */
export async function issuerParts(
  { ring, store }: Issuing,
  { options: settings, logger, nameOf, service: { env } }: PluginContext<AuthSettings>,
): Promise<Pick<PluginParts, "behindBody"> & { readonly issuer: TokenIssuer }> {
  const { authRoutes, createTokenIssuer } = await import("@svc/token-issuer");
  const options = takeOptions(
    settings,
    "issuer",
    "audience",
    "scopeClaim",
    "rolesClaim",
    "tenantClaim",
    "accessLifetimeMinutes",
    "refreshLifetimeDays",
    "refreshGraceSeconds",
    "sessionLifetimeDays",
    "leewaySeconds",
    "onRefresh",
  );
  const names = {
    subject: "the service",
    of: (option: string) => nameOf(option === "store" ? "revocation" : option),
  };
  const issuer = createTokenIssuer(withNames({ ...options, keys: ring, store, env, logger }, names));
  return { issuer, behindBody: authRoutes(issuer) };
}

/** Returns the stop hook of the verifier, the key ring and the store. */
export function stopIssuing(auth: JwtAuth, issuing: Issuing | undefined): () => Promise<void> {
  return async () => {
    auth.stop();
    issuing?.ring.stop();
    if (issuing?.ownsStore === true) await issuing.store.stop?.();
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

/** Returns the store of revoked tokens and sessions that all replicas share in the cache (REV-3). */
export async function sharedStore({ redis }: Cache): Promise<TokenStore & RevocationCheck> {
  const { createRedisTokenStore } = await import("@svc/token-store/redis");
  return createRedisTokenStore({ redis });
}

// Signing needs a private key or secret, and prod needs a shared store (ISS-16).
function refuseWithout(
  { options: { mode, secret, signingKeys }, nameOf, service: { env } }: PluginContext<AuthSettings>,
  store: RevocationCheck | Cache | undefined,
): void {
  const key = "plugin.auth.issue_tokens";
  if (signingKeys === undefined && mode === "secret" && secret === undefined) {
    const message =
      "is required to sign with in mode secret; or set plugin.auth.signing_keys to a file of svc-keys";
    throw new ConfigurationError("the service", [{ key: nameOf("secret"), message }]);
  }
  if (signingKeys === undefined && mode !== "secret") {
    const message = `needs a key to sign with: set plugin.auth.signing_keys to a file of svc-keys, or mode = "secret"`;
    throw new ConfigurationError("the service", [{ key, message }]);
  }
  if (env === "prod" && store === undefined) {
    const message =
      "needs a store that all replicas share in prod, or a sign-out would reach one of them alone; enable the plugin cache";
    throw new ConfigurationError("the service", [{ key, message }]);
  }
}

/** Whether a revocation check is a token store, which can also record revocations. */
function isTokenStore(check: RevocationCheck): check is TokenStore & RevocationCheck {
  const { revoke, revokeFamily, revokeSubject, rotate } = check as Partial<TokenStore>;
  return [revoke, revokeFamily, revokeSubject, rotate].every((each) => typeof each === "function");
}

// Otherwise the issuer would write sign-outs to one store, and bearer tokens would be checked against another.
function refuseCheckAlone(): never {
  const message =
    "must be a whole token store in a service that issues tokens, as its sign-outs are written there; " +
    "give a store of @svc/token-store, or take it away";
  throw new ConfigurationError("the service", [{ key: "auth.revocation", message }]);
}

function hmacOf({ algorithms }: AuthSettings): "HS256" | "HS384" | "HS512" | undefined {
  const [first] = algorithms;
  return first === "HS256" || first === "HS384" || first === "HS512" ? first : undefined;
}
