import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import {
  boolean,
  either,
  func,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { Algorithm } from "./algorithms.ts";
import { type Env, envs } from "./secret-rules.ts";
import type { KeySource } from "./key-source.ts";
import type { RevocationCheck } from "./revocation.ts";
import { bytes } from "./secret-source.ts";

/** Options of {@link jwtAuth}. Exactly one of `jwksUrl`, `publicKey`, `secret` and `keys` is required. */
export interface JwtAuthOptions {
  /** Where the key comes from (AUTH-2). Default: the mode of the given key option. */
  readonly mode?: "jwks" | "public_key" | "secret" | undefined;
  /** URL of the issuer's key set. Default: none. */
  readonly jwksUrl?: string | undefined;
  /** A public key or certificate as PEM; `\n` may be written as two characters. Default: none. */
  readonly publicKey?: string | undefined;
  /** The secret shared with the issuer; at least 32 bytes in `prod` (AUTH-31, AUTH-32). Default: none. */
  readonly secret?: string | Uint8Array | undefined;
  /** Your own key source, instead of a mode. `stop()` of the middleware does not stop it. Default: none. */
  readonly keys?: KeySource | undefined;
  /**
   * Allowed algorithms, of one family (AUTH-3, AUTH-5). Default: `["RS256"]`; with `secret`: `["HS256"]`; with `keys`:
   * those of that source, if it lists any.
   */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Required value of `iss` (AUTH-6). Default: `iss` is not checked. */
  readonly issuer?: string | undefined;
  /** Audiences of which `aud` must contain one (AUTH-6). Default: `aud` is not checked, and a warning is logged. */
  readonly audience?: string | readonly string[] | undefined;
  /** Leeway on exp, nbf and iat in seconds (AUTH-8). Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /** Name of the claim with the scopes (CLAIM-1). Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** Name of the claim with the roles (CLAIM-1). Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** Name of the claim with the tenant (CLAIM-1). Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** Timeout of one fetch of the key set in seconds, including all attempts and the body. Default: 5. */
  readonly jwksTimeoutSeconds?: number | undefined;
  /** Attempts per fetch, including the first. Default: 2. */
  readonly jwksAttempts?: number | undefined;
  /** Consecutive failed fetches that open the circuit breaker; 0 turns it off. Default: 3. */
  readonly jwksBreakerFailures?: number | undefined;
  /** Seconds for which the breaker stays open. Default: 30. */
  readonly jwksBreakerCoolDownSeconds?: number | undefined;
  /** Most cached verified tokens; 0 turns the cache off. Default: 5,000. */
  readonly cacheTokens?: number | undefined;
  /** Revocation check, called at every use of a token. Default: revocation is not checked. */
  readonly revocation?: RevocationCheck | undefined;
  /**
   * Whether tokens are accepted while the revocation store is down (REV-4). When false, requests with a valid token get
   * a 503 (REV-5). Default: true.
   */
  readonly revocationFailOpen?: boolean | undefined;
  /** Timeout of one query to the store, in seconds. Default: 1. */
  readonly revocationTimeoutSeconds?: number | undefined;
  /**
   * Returns the token of a request without a bearer header, for example from a cookie (AUTH-33). Such a request must come
   * from the same origin if its method is unsafe (AUTH-34). Default: only the bearer header carries a token.
   */
  readonly tokenFrom?: ((req: IncomingMessage) => string | undefined) | undefined;
  /** Where the service runs; `prod` applies the strict rules. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Logs startup warnings, and reasons of refused tokens when the context has no logger. Default: none. */
  readonly logger?: Logger | undefined;
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`, and a monotonic clock for waits. */
  readonly now?: (() => number) | undefined;
}

export const SUBJECT = "jwtAuth()";

type WithDefault = "env" | "revocationFailOpen" | "revocationTimeoutSeconds";

/** The options, with those defaults filled in that no inner factory sets. */
export type GivenOptions = {
  readonly [K in keyof JwtAuthOptions]-?: K extends WithDefault
    ? NonNullable<JwtAuthOptions[K]>
    : JwtAuthOptions[K];
};

/**
 * Checks names and types of the options.
 *
 * @throws ConfigurationError for unknown options and for values of the wrong type
 */
export function readOptions(given: JwtAuthOptions): GivenOptions {
  const anyText = string({ allowEmpty: true });
  const algorithmList: Kind<readonly Algorithm[]> = {
    expects: "a list of algorithms",
    accepts: (value): value is readonly Algorithm[] => Array.isArray(value),
  };
  // The factories that use these numbers check their bounds.
  return resolveOptions(SUBJECT, given, {
    mode: optional(oneOf("jwks", "public_key", "secret")),
    jwksUrl: optional(secret(string())),
    publicKey: optional(secret(string())),
    secret: optional(secret(either(string(), bytes))),
    keys: optional(objectWith<KeySource>("a key source", "find")),
    algorithms: optional(algorithmList),
    issuer: optional(anyText),
    audience: optional(either(anyText, listOf(string()))),
    leewaySeconds: optional(number()),
    scopeClaim: optional(string()),
    rolesClaim: optional(string()),
    tenantClaim: optional(string()),
    jwksTimeoutSeconds: optional(number()),
    jwksAttempts: optional(integer()),
    jwksBreakerFailures: optional(integer()),
    jwksBreakerCoolDownSeconds: optional(number()),
    cacheTokens: optional(integer()),
    revocation: optional(objectWith<RevocationCheck>("a revocation check", "isRevoked")),
    revocationFailOpen: withDefault(boolean(), true),
    revocationTimeoutSeconds: withDefault(number({ min: 0.001, max: 60 }), 1),
    tokenFrom: optional(func<(req: IncomingMessage) => string | undefined>()),
    env: withDefault(oneOf(...envs), "prod"),
    logger: optional(objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")),
    now: optional(func<() => number>()),
  });
}
