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
import { type Env, envs } from "./env.ts";
import type { KeySource } from "./key-source.ts";
import type { RevocationCheck } from "./revocation.ts";
import { bytes } from "./secret-source.ts";

/** What {@link jwtAuth} takes. Exactly one of `jwksUrl`, `publicKey`, `secret` and `keys` must be there. */
export interface JwtAuthOptions {
  /** Where the key comes from (AUTH-2); need not be said. Default: what the key that was given says. */
  readonly mode?: "jwks" | "public_key" | "secret" | undefined;
  /** Address of the issuer's key set. Default: none. */
  readonly jwksUrl?: string | undefined;
  /** A public key or certificate as PEM; `\n` may be written as two characters. Default: none. */
  readonly publicKey?: string | undefined;
  /** A secret that is shared with the issuer, in `prod` at least 32 bytes (AUTH-31, AUTH-32). Default: none. */
  readonly secret?: string | Uint8Array | undefined;
  /** A key source of your own, instead of a mode. It is yours to stop. Default: none. */
  readonly keys?: KeySource | undefined;
  /**
   * Allowed algorithms, of one family (AUTH-3, AUTH-5). Default: `["RS256"]`; with a secret `["HS256"]`; with `keys`
   * those of that source, where it names any.
   */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** What `iss` must be (AUTH-6). Default: any, or none. */
  readonly issuer?: string | undefined;
  /** What `aud` must be or contain, one of them when several are given (AUTH-6). Default: any, or none, with a warning. */
  readonly audience?: string | readonly string[] | undefined;
  /** Seconds by which clocks may differ (AUTH-8). Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /** Name of the claim with the scopes (CLAIM-1). Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** Name of the claim with the roles (CLAIM-1). Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** Name of the claim with the tenant (CLAIM-1). Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** Seconds that one fetch of the key set may take, all attempts and the body included. Default: 5. */
  readonly jwksTimeoutSeconds?: number | undefined;
  /** Attempts of one fetch, the first included. Default: 2. */
  readonly jwksAttempts?: number | undefined;
  /** Failed fetches in a row after which the issuer is left alone; 0 for never. Default: 3. */
  readonly jwksBreakerFailures?: number | undefined;
  /** Seconds for which it is left alone. Default: 30. */
  readonly jwksBreakerCoolDownSeconds?: number | undefined;
  /** How many verified tokens are remembered; 0 for none. Default: 5,000. */
  readonly cacheTokens?: number | undefined;
  /** Asked at every use of a token whether it has been revoked. Default: revocation is not checked. */
  readonly revocation?: RevocationCheck | undefined;
  /**
   * Whether tokens are accepted while the store of revocations does not answer (REV-4); otherwise every request with a
   * valid one gets a 503 (REV-5). Default: true.
   */
  readonly revocationFailOpen?: boolean | undefined;
  /** Seconds that one question to the store may take. Default: 1. */
  readonly revocationTimeoutSeconds?: number | undefined;
  /**
   * Finds the token of a request that has no bearer header, in a cookie say (AUTH-33). Requests with an unsafe method
   * must then come from the same origin (AUTH-34). Default: only the bearer header brings a token.
   */
  readonly tokenFrom?: ((req: IncomingMessage) => string | undefined) | undefined;
  /** Where the service runs; the strict rules hold in `prod`. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Gets the reasons of refused tokens where the context has no logger, and what happens at startup. Default: none. */
  readonly logger?: Logger | undefined;
  /** The time, in milliseconds since the Unix epoch; for tests. Default: `Date.now`, and a monotonic clock for waits. */
  readonly now?: (() => number) | undefined;
}

export const SUBJECT = "jwtAuth()";

type WithDefault = "env" | "revocationFailOpen" | "revocationTimeoutSeconds";

/** The options with the defaults that no other factory knows. */
export type GivenOptions = {
  readonly [K in keyof JwtAuthOptions]-?: K extends WithDefault
    ? NonNullable<JwtAuthOptions[K]>
    : JwtAuthOptions[K];
};

/** @throws ConfigurationError for unknown options, and for values of a wrong kind */
export function readOptions(given: JwtAuthOptions): GivenOptions {
  const anyText = string({ allowEmpty: true });
  const algorithmList: Kind<readonly Algorithm[]> = {
    expects: "a list of algorithms",
    accepts: (value): value is readonly Algorithm[] => Array.isArray(value),
  };
  // Bounds of numbers are those of the factories that these options are for.
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
