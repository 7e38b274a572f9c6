import {
  boolean,
  ConfigurationError,
  either,
  func,
  integer,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type Algorithm, checkAlgorithms } from "./algorithms.ts";
import type { KeySource } from "./key-source.ts";

/** Options of `createVerifier()`. */
export interface VerifierOptions {
  /** Where the keys come from. Required. */
  readonly keys: KeySource;
  /**
   * Algorithms that tokens may be signed with, of one family (AUTH-3, AUTH-5). Default: those of the key source, or
   * `["RS256"]` when it lists none.
   */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Required value of `iss` (AUTH-6). Default: any issuer. */
  readonly issuer?: string | undefined;
  /** Makes `aud` required; it must contain this audience, or one of these (AUTH-6). Default: any audience. */
  readonly audience?: string | readonly string[] | undefined;
  /** Leeway on exp, nbf and iat in seconds, 0 to 3,600 (AUTH-8). Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /** The claim that lists scopes (CLAIM-1). Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** The claim that lists roles (CLAIM-1). Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** The claim that names the tenant (CLAIM-1). Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** `access` refuses refresh tokens (AUTH-10), `refresh` all others. Default: `access`. */
  readonly tokenUse?: "access" | "refresh" | undefined;
  /** Most cached verified tokens, 0 (no cache) to 1,000,000. Default: 5,000. */
  readonly cacheTokens?: number | undefined;
  /** Most memory of the cache, in estimated bytes, at least 65,536. Default: 33,554,432 (32 MiB). */
  readonly cacheBytes?: number | undefined;
  /**
   * Whether ES* and EdDSA signatures are checked in the thread pool: `verify` then returns a promise for a token that
   * is not cached. RSA and HMAC are always checked synchronously. Default: true.
   */
  readonly useThreadPool?: boolean | undefined;
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with all defaults filled in. */
export interface ResolvedVerifierOptions {
  readonly keys: KeySource;
  readonly algorithms: readonly Algorithm[];
  readonly issuer: string | undefined;
  readonly audiences: readonly string[];
  readonly leewaySeconds: number;
  readonly scopeClaim: string;
  readonly rolesClaim: string;
  readonly tenantClaim: string;
  readonly tokenUse: "access" | "refresh";
  readonly cacheTokens: number;
  readonly cacheBytes: number;
  readonly useThreadPool: boolean;
  readonly now: () => number;
}

const subject = "createVerifier()";

/**
 * Validates the options and fills in the defaults.
 *
 * @throws ConfigurationError that lists every unknown and every wrong option
 */
export function resolveVerifierOptions(given: VerifierOptions): ResolvedVerifierOptions {
  const { audience, algorithms, issuer, ...options } = resolveOptions(subject, given, {
    keys: objectWith<KeySource>("a key source", "find"),
    algorithms: optional(listOf(string())),
    issuer: withDefault(string({ allowEmpty: true }), ""),
    audience: withDefault(either(string({ allowEmpty: true }), listOf(string())), ""),
    leewaySeconds: withDefault(number({ min: 0, max: 3600 }), 30),
    scopeClaim: withDefault(string(), "scope"),
    rolesClaim: withDefault(string(), "roles"),
    tenantClaim: withDefault(string(), "tenant_id"),
    tokenUse: withDefault(oneOf("access", "refresh"), "access"),
    cacheTokens: withDefault(integer({ min: 0, max: 1_000_000 }), 5000),
    cacheBytes: withDefault(integer({ min: 65_536 }), 32 * 1024 * 1024),
    useThreadPool: withDefault(boolean(), true),
    now: withDefault(func<() => number>(), () => Date.now()),
  });
  checkClaimNames(options);
  checkGeneration(options.keys);
  return {
    ...options,
    algorithms: chooseAlgorithms(algorithms, options.keys),
    // Empty settings arrive as empty strings.
    issuer: issuer === "" ? undefined : issuer,
    audiences: typeof audience === "string" ? (audience === "" ? [] : [audience]) : audience,
  };
}

/** Rejects `grt`: it lists the rights of a session, not those of a request (CLAIM-5). */
function checkClaimNames(names: Readonly<Record<"scopeClaim" | "rolesClaim" | "tenantClaim", string>>): void {
  for (const key of ["scopeClaim", "rolesClaim", "tenantClaim"] as const) {
    if (names[key] !== "grt") continue;
    const message = "must not be grt: that claim lists what a session may ask for, and authorizes no request";
    throw new ConfigurationError(subject, [{ key, message }]);
  }
}

/** Requires `generation`: without it, cached tokens would stay valid after their key was removed. */
function checkGeneration(keys: KeySource): void {
  if (typeof keys.generation === "number") return;
  const message = "must have generation, a number that goes up when a key changes; 0 where none ever does";
  throw new ConfigurationError(subject, [{ key: "keys", message }]);
}

function chooseAlgorithms(given: readonly string[] | undefined, keys: KeySource): readonly Algorithm[] {
  const list = checkAlgorithms(subject, given ?? keys.algorithms ?? ["RS256"]);
  const has = keys.algorithms;
  const without = has === undefined ? [] : list.filter((each) => !has.includes(each));
  if (without.length === 0) return list;
  const message = `has ${without.join(", ")}, for which the key source has no keys; it is for ${has?.join(", ")}`;
  throw new ConfigurationError(subject, [{ key: "algorithms", message }]);
}
