import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import {
  defineOptions,
  fileOptions,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
  type WithMethods,
} from "@svc/options";
import type { Algorithm } from "./algorithms.ts";
import { keySetOptions } from "./key-set-options.ts";
import { issuersKind } from "./issuer-options.ts";
import { keysKind } from "./key-input.ts";
import { revocationKind } from "./revocation.ts";
import { verifierOptions } from "./verifier-options.ts";

// Method parameters are bivariant, so a function may declare the request of Express that it expects.
interface Functions {
  tokenFrom(req: IncomingMessage): string | undefined;
}

const algorithmList: k.Kind<readonly Algorithm[]> = {
  expects: "a list of algorithms",
  accepts: (value): value is readonly Algorithm[] => Array.isArray(value),
};

/** Options of `jwtAuth()`. Exactly one of `jwksUrl`, `discovery`, `publicKey`, `secret`, `keys` and `issuers` is required. */
export const jwtAuthOptions = defineOptions("jwtAuth()", {
  /** Where the key comes from (AUTH-2). Default: the mode of the given key option. */
  mode: { key: "mode", env: "SVC_AUTH_MODE", kind: k.optional(k.oneOf("jwks", "public_key", "secret")) },
  /** URL of the issuer's key set. Default: none. */
  jwksUrl: { key: "jwks_url", env: "SVC_AUTH_JWKS_URL", wins: "env", kind: k.optional(k.secret(k.string())) },
  /**
   * Whether the URL of the key set comes from the discovery document of `issuer` (OpenID Connect Discovery 1.0), instead of a
   * mode. Default: false.
   */
  discovery: { kind: k.optional(k.boolean()) },
  /** A public key or certificate as PEM; `\n` may be written as two characters. Default: none. */
  publicKey: {
    key: "public_key",
    env: "SVC_AUTH_PUBLIC_KEY",
    wins: "env",
    kind: k.optional(k.secret(k.string())),
  },
  /** The secret shared with the issuer; at least 32 bytes in `prod` (AUTH-31, AUTH-32). Default: none. */
  secret: {
    key: "secret",
    env: "SVC_AUTH_SECRET",
    wins: "env",
    kind: k.optional(k.secret(k.either(k.string(), k.bytes()))),
  },
  /**
   * Allowed algorithms, of one family (AUTH-3, AUTH-5). Default: `["RS256"]`; with `secret`: `["HS256"]`; with `keys`: the
   * algorithms of the key or of the source, if there are any.
   */
  algorithms: { key: "algorithms", env: "SVC_AUTH_ALGORITHMS", kind: k.optional(algorithmList) },
  ...fileOptions(verifierOptions),
  /**
   * Timeout of one fetch of the key set in seconds, including discovery, all attempts and the body, and of one call of a
   * function `keys`. Default: 5.
   */
  jwksTimeoutSeconds: { ...keySetOptions.keys.timeoutSeconds, key: "jwks_timeout" },
  /** Attempts per fetch, including the first. Default: 2. */
  jwksAttempts: { ...keySetOptions.keys.attempts, key: "jwks_attempts" },
  /** Consecutive failed fetches that open the circuit breaker; 0 turns it off. Default: 3. */
  jwksBreakerFailures: { ...keySetOptions.keys.breakerFailures, key: "jwks_breaker_failures" },
  /** How long the circuit breaker stays open, in seconds. Default: 30. */
  jwksBreakerCoolDownSeconds: {
    ...keySetOptions.keys.breakerCoolDownSeconds,
    key: "jwks_breaker_cool_down",
  },
  /**
   * Whether tokens are accepted while the revocation store is down (REV-4). When false, requests with a valid token get
   * a 503 (REV-5). Default: true.
   */
  revocationFailOpen: { key: "revocation_fail_open", kind: k.withDefault(k.boolean(), true) },
  /** Timeout of one query to the store, in seconds. Default: 1. */
  revocationTimeoutSeconds: { kind: k.withDefault(k.number({ min: 0.001, max: 60 }), 1) },
  /** Revocation check, called at every use of a token. Default: revocation is not checked. */
  revocation: { kind: revocationKind },
  /**
   * Returns the token of a request without a bearer header, for example from a cookie (AUTH-33). Such a request must come
   * from the same origin if its method is unsafe (AUTH-34). Default: only the bearer header carries a token.
   */
  tokenFrom: { kind: k.optional(k.func<Functions["tokenFrom"]>()) },
  /**
   * Your own key, instead of a mode: a `KeyObject`, a `CryptoKey`, a JWK, a JWK set, a PEM, a function of the token's header,
   * or a key source, which `stop()` of the middleware does not stop. Default: none.
   */
  keys: { kind: k.optional(keysKind) },
  /**
   * Several issuers, each with its own keys, audience, algorithms and revocation check, instead of a mode and the options of
   * one issuer.
   * Default: one issuer.
   */
  issuers: { kind: k.optional(issuersKind) },
  /** Where the service runs; `prod` applies the strict rules. Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Logs startup warnings, and the reasons for refused tokens when the context has no logger. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")) },
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`, and a monotonic clock for waits. */
  now: { kind: k.optional(k.func<() => number>()) },
});

/**
 * Options of {@link jwtAuth}. Exactly one of `jwksUrl`, `discovery`, `publicKey`, `secret`, `keys` and `issuers` is
 * required.
 */
export type JwtAuthOptions = WithMethods<OptionsOf<typeof jwtAuthOptions>, Functions>;

/** The options with their defaults filled in. */
export type GivenOptions = ResolvedOptions<(typeof jwtAuthOptions)["keys"]>;
