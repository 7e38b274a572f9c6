import type { TokenStore } from "@svc/context";
import type { RevocationCheck } from "@svc/jwt-auth";
import { authOptions, type Signing } from "@svc/jwt-auth/plugin";
import {
  ConfigurationError,
  defineOptions,
  fileOptions,
  kinds as k,
  pickOptions,
  type ResolvedOptions,
  takeOptions,
  withNames,
} from "@svc/options";
import { definePlugin, type PluginContext } from "@svc/plugin";
import type { KeyRing } from "./key-ring.ts";
import { type TokenIssuerOptions, tokenIssuerOptions } from "./options.ts";
import type { TokenIssuer } from "./token-issuer.ts";

export type { RefreshHook } from "./refresh-hook.ts";
export type { TokenIssuer } from "./token-issuer.ts";

const issuingOptions = defineOptions("[plugin.auth]", {
  ...pickOptions(
    authOptions,
    "mode",
    "algorithms",
    "secret",
    "issuer",
    "audience",
    "scopeClaim",
    "rolesClaim",
    "tenantClaim",
    "leewaySeconds",
    "revocation",
  ),
  /** Whether the service issues tokens: `service.issuer`, and the routes under /auth. Default: false. */
  issueTokens: { key: "issue_tokens", kind: k.withDefault(k.boolean(), false) },
  /**
   * A file or folder of signing keys created by `svc-keys`; they also verify tokens, instead of the mode's keys. Default:
   * none.
   */
  signingKeys: { key: "signing_keys", kind: k.optional(k.string()) },
  ...fileOptions(tokenIssuerOptions),
  /** Called at every refresh; returns the current rights of the session (REF-9). Needs `issueTokens`. Default: none. */
  onRefresh: tokenIssuerOptions.keys.onRefresh,
});

type Context = PluginContext<ResolvedOptions<(typeof issuingOptions)["keys"]>>;

/** The token stores that another plugin of the service offers to this plugin, as `tokenStores`. */
export interface TokenStores {
  /** Returns the store that all replicas share; undefined without a cache. */
  readonly shared: (() => Promise<TokenStore>) | undefined;
  /** Returns a store in process memory. */
  readonly inProcess: () => Promise<TokenStore>;
}

/**
 * The part of `[plugin.auth]` that issues tokens, as `service.issuer`. It starts before the verifier, which uses its keys
 * and its store.
 */
export const issuingPlugin = definePlugin({
  name: "auth",
  options: issuingOptions,
  async start(context) {
    const { options, attempt } = context;
    if (!options.issueTokens) {
      refuseUnused(context);
      return { parts: { issuer: undefined as TokenIssuer | undefined } };
    }
    const signing = await attempt(() => signingParts(context));
    if (signing === undefined) return { offers: { signing: "refused" satisfies Signing } };
    const { ring, store, isOwnStore, isInProcess } = signing;
    const [{ createTokenIssuer }, { authRoutes }] = await Promise.all([
      import("./token-issuer.ts"),
      import("./auth-routes.ts"),
    ]);
    const issuer = await attempt(() => createTokenIssuer(issuerOptions(context, ring, store)));
    // In mode `secret`, the verifier reads the secret itself and needs no keys from here.
    const verifies = options.mode !== "secret" || options.signingKeys !== undefined;
    const offered: Signing = { keys: verifies ? ring : undefined, store };
    return {
      parts: { issuer },
      offers: { signing: offered },
      behindBody: issuer && authRoutes(issuer),
      // The verifier's check covers the shared store; an in-process store adds its own check (RDY-23).
      checks: [ring.readiness(), isInProcess ? store.readiness?.() : undefined].filter(
        (each) => each !== undefined,
      ),
      stop: [
        "close",
        async () => {
          ring.stop();
          if (isOwnStore) await store.stop?.();
        },
      ],
      info: { issues: true },
    };
  },
});

/** Returns the signing keys and the store of used and revoked tokens. */
async function signingParts(context: Context) {
  const { options, logger, part, service } = context;
  const { revocation, secret, signingKeys } = options;
  const given = revocation === undefined ? undefined : completeStore(revocation);
  const stores = part<TokenStores>("tokenStores");
  if (stores === undefined)
    throw new TypeError("issuingPlugin must be joined with a plugin that offers tokenStores");
  refuseWithout(context, given ?? stores.shared);
  const { createKeyRing } = await import("./create-key-ring.ts");
  const keys =
    signingKeys === undefined ? { secret, algorithm: hmacOf(options.algorithms) } : { file: signingKeys };
  const ring = createKeyRing({ ...keys, env: service.env, logger });
  const store = given ?? (await (stores.shared ?? stores.inProcess)());
  const isOwnStore = given === undefined;
  return { ring, store, isOwnStore, isInProcess: isOwnStore && stores.shared === undefined };
}

function issuerOptions(
  { options, logger, nameOf, service: { env } }: Context,
  keys: KeyRing,
  store: TokenStore,
): TokenIssuerOptions {
  const taken = takeOptions(
    options,
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
  const of = (option: string): string => nameOf(option === "store" ? "revocation" : option);
  return withNames({ ...taken, keys, store, env, logger }, { subject: "the service", of });
}

/** @throws ConfigurationError for options without effect when no issuer is configured */
function refuseUnused({ options: { onRefresh, signingKeys }, nameOf }: Context): void {
  const message =
    "has no effect unless the service issues tokens; set plugin.auth.issue_tokens, or remove this option";
  const given = [
    ...(onRefresh === undefined ? [] : ["onRefresh"]),
    ...(signingKeys === undefined ? [] : ["signingKeys"]),
  ];
  const faults = given.map((option) => ({ key: nameOf(option), message }));
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
}

// Signing needs a private key or secret, and prod needs a shared store (ISS-16).
function refuseWithout(
  { options: { mode, secret, signingKeys }, nameOf, service: { env } }: Context,
  store: object | undefined,
): void {
  const key = "plugin.auth.issue_tokens";
  if (signingKeys === undefined && mode === "secret" && secret === undefined) {
    const message =
      "is required in mode secret to sign tokens, unless plugin.auth.signing_keys names a file created by svc-keys";
    throw new ConfigurationError("the service", [{ key: nameOf("secret"), message }]);
  }
  if (signingKeys === undefined && mode !== "secret") {
    const message = `needs a key to sign with: set plugin.auth.signing_keys to a file created by svc-keys, or mode = "secret"`;
    throw new ConfigurationError("the service", [{ key, message }]);
  }
  if (env === "prod" && store === undefined) {
    const message =
      "needs a store that all replicas share in prod, because a sign-out would otherwise reach only one replica; enable the plugin cache";
    throw new ConfigurationError("the service", [{ key, message }]);
  }
}

/**
 * Returns the revocation check if it is a complete token store.
 *
 * @throws ConfigurationError for an incomplete store: sign-outs would be written to one store and tokens checked against
 *   another
 */
function completeStore(check: RevocationCheck): TokenStore {
  const { revoke, revokeFamily, revokeSubject, rotate } = check as Partial<TokenStore>;
  if ([revoke, revokeFamily, revokeSubject, rotate].every((each) => typeof each === "function")) {
    return check as TokenStore;
  }
  const message =
    "must be a complete token store in a service that issues tokens, because sign-outs are written to it; " +
    "pass a store from @svc/token-store, or remove this option";
  throw new ConfigurationError("the service", [{ key: "auth.revocation", message }]);
}

function hmacOf([first]: readonly string[]): "HS256" | "HS384" | "HS512" | undefined {
  return first === "HS256" || first === "HS384" || first === "HS512" ? first : undefined;
}
