import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  type Fault,
  func,
  integer,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { type Algorithm, checkAlgorithms, isSymmetric } from "./algorithms.ts";
import { type Env, envs } from "./secret-rules.ts";
import type { RefreshPlan } from "./refreshed-keys.ts";

/** Options for keys that are fetched and refreshed. */
export interface RefreshOptions {
  /** Allowed asymmetric algorithms; keys for others are skipped. Default: `["RS256"]`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Timeout of one refresh with all its attempts, in seconds, 0.05 to 60 (KEY-6). Default: 5. */
  readonly timeoutSeconds?: number | undefined;
  /** Consecutive failed refreshes that open the circuit breaker; 0 turns it off (KEY-9). Default: 3. */
  readonly breakerFailures?: number | undefined;
  /** Time for which the breaker stays open, in seconds, 1 to 3,600 (KEY-9, KEY-10). Default: 30. */
  readonly breakerCoolDownSeconds?: number | undefined;
  /** Age at which keys are fetched again, in seconds, 1 to 86,400, varied by up to a tenth. Default: 600. */
  readonly maxAgeSeconds?: number | undefined;
  /**
   * Age at which keys are dropped when they cannot be fetched again, in seconds; at least twice `maxAgeSeconds`. Without
   * keys, no token is accepted. Default: keys remain in use throughout an outage (KEY-4).
   */
  readonly maxStaleSeconds?: number | undefined;
  /**
   * Logs a change of the keys, a failed refresh, and the first success after a failure. Default: none.
   */
  readonly logger?: Logger | undefined;
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
  /** Returns a random number from 0 to below 1, for tests. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Options of {@link createKeySetSource}. */
export interface KeySetOptions extends RefreshOptions {
  /** URL of the issuer's key set: http or https, without user and password. Required. */
  readonly url: string;
  /** Where the service runs; in `prod` the URL must be https (KEY-14). Default: `prod`. */
  readonly env?: Env | undefined;
  /** Attempts per refresh, including the first, 1 to 5 (KEY-6). Default: 2. */
  readonly attempts?: number | undefined;
  /** Function that fetches. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Options of a refresh with all defaults filled in. */
export interface ResolvedRefresh extends Omit<RefreshPlan, "load" | "place"> {
  readonly algorithms: readonly Algorithm[];
}

/** Options of a key set with all defaults filled in. */
export interface ResolvedKeySet extends ResolvedRefresh {
  readonly url: URL;
  readonly attempts: number;
  readonly fetch: typeof globalThis.fetch;
}

const refreshKinds = {
  algorithms: withDefault({ expects: "a list of algorithms", accepts: isAnything }, ["RS256"]),
  timeoutSeconds: withDefault(number({ min: 0.05, max: 60 }), 5),
  breakerFailures: withDefault(integer({ min: 0, max: 100 }), 3),
  breakerCoolDownSeconds: withDefault(number({ min: 1, max: 3600 }), 30),
  maxAgeSeconds: withDefault(number({ min: 1, max: 86_400 }), 600),
  maxStaleSeconds: optional(number({ min: 2 })),
  logger: optional(objectWith<Logger>("a logger", "info", "warn")),
  now: withDefault(func<() => number>(), () => performance.now()),
  random: withDefault(func<() => number>(), () => Math.random()),
} as const;

// checkAlgorithms() checks the list and gives a more precise message.
function isAnything(_value: unknown): _value is readonly Algorithm[] {
  return true;
}

/** Validates the options of a refresh. Throws a ConfigurationError for unknown or wrong ones. */
export function resolveRefreshOptions(subject: string, given: RefreshOptions): ResolvedRefresh {
  const resolved = resolveOptions(subject, given, refreshKinds);
  const faults = refreshFaults(subject, resolved);
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return refreshOf(resolved);
}

/** Validates the options of a key set. Throws a ConfigurationError for unknown or wrong ones. */
export function resolveKeySetOptions(given: KeySetOptions): ResolvedKeySet {
  const subject = "createKeySetSource()";
  const { url, env, attempts, fetch, ...rest } = resolveOptions(subject, given, {
    ...refreshKinds,
    // Secret: an error must not show the query, which may contain a key.
    url: secret(string()),
    env: withDefault(oneOf(...envs), "prod"),
    attempts: withDefault(integer({ min: 1, max: 5 }), 2),
    // Look up the global at each call, because a tracer or test may replace it later.
    fetch: withDefault(func<typeof globalThis.fetch>(), (input, init) => globalThis.fetch(input, init)),
  });
  const parsed = URL.parse(url);
  const message = parsed === null ? "must be a URL; it is not one" : faultOf(parsed, env);
  const faults = refreshFaults(subject, rest);
  if (message !== undefined) faults.unshift({ key: "url", message });
  if (parsed === null || faults.length > 0) throw new ConfigurationError(subject, faults);
  return { ...refreshOf(rest), url: parsed, attempts, fetch };
}

function faultOf({ protocol, username, password }: URL, env: Env): string | undefined {
  if (protocol !== "https:" && protocol !== "http:") {
    return `must begin with https://; it begins with ${protocol}`;
  }
  if (username !== "" || password !== "") return "must not hold a user or a password; key sets are public";
  if (protocol === "http:" && env === "prod") {
    return "must begin with https:// in prod, the default env: over plain http anybody can put in a key";
  }
  return undefined;
}

interface Seconds extends Required<Pick<RefreshPlan, "breakerFailures" | "logger" | "now" | "random">> {
  readonly algorithms: readonly Algorithm[];
  readonly timeoutSeconds: number;
  readonly breakerCoolDownSeconds: number;
  readonly maxAgeSeconds: number;
  readonly maxStaleSeconds: number | undefined;
}

function refreshFaults(subject: string, { algorithms, maxAgeSeconds, maxStaleSeconds }: Seconds): Fault[] {
  const faults: Fault[] = [];
  try {
    const symmetric = checkAlgorithms(subject, algorithms).filter(isSymmetric);
    if (symmetric.length > 0) {
      const message = `has ${symmetric.join(", ")}; a key set is public, so name RS*, PS*, ES* or EdDSA`;
      faults.push({ key: "algorithms", message });
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    faults.push(...error.faults);
  }
  if (maxStaleSeconds !== undefined && maxStaleSeconds < 2 * maxAgeSeconds) {
    const message = `must be at least twice maxAgeSeconds (${2 * maxAgeSeconds}); it is ${maxStaleSeconds}`;
    faults.push({ key: "maxStaleSeconds", message });
  }
  return faults;
}

function refreshOf(given: Seconds): ResolvedRefresh {
  const { algorithms, maxAgeSeconds, maxStaleSeconds, breakerFailures, logger, now, random } = given;
  return {
    algorithms: [...new Set(algorithms)],
    timeoutMs: given.timeoutSeconds * 1000,
    breakerFailures,
    coolDownMs: given.breakerCoolDownSeconds * 1000,
    maxAgeMs: maxAgeSeconds * 1000,
    maxStaleMs: maxStaleSeconds === undefined ? Infinity : maxStaleSeconds * 1000,
    logger,
    now,
    random,
  };
}
