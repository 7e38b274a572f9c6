import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  defineOptions,
  type EnvironmentName,
  fault,
  type Fault,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import { type Algorithm, checkAlgorithms, isSymmetric } from "./algorithms.ts";

// Accept any value here, because checkAlgorithms() checks the list and reports a more precise message.
function isAnything(_value: unknown): _value is readonly Algorithm[] {
  return true;
}

export const refreshOptions = defineOptions("fromJwksRsa()", {
  /** Allowed asymmetric algorithms; keys for others are skipped. Default: `["RS256"]`. */
  algorithms: { kind: k.withDefault({ expects: "a list of algorithms", accepts: isAnything }, ["RS256"]) },
  /** Timeout of one refresh with all its attempts, in seconds, 0.05 to 60 (KEY-6). Default: 5. */
  timeoutSeconds: { kind: k.withDefault(k.number({ min: 0.05, max: 60 }), 5) },
  /** Consecutive failed refreshes that open the circuit breaker; 0 turns it off (KEY-9). Default: 3. */
  breakerFailures: { kind: k.withDefault(k.integer({ min: 0, max: 100 }), 3) },
  /** How long the breaker stays open, in seconds, 1 to 3,600 (KEY-9, KEY-10). Default: 30. */
  breakerCoolDownSeconds: { kind: k.withDefault(k.number({ min: 1, max: 3600 }), 30) },
  /** Age at which keys are fetched again, in seconds, 1 to 86,400, varied by up to a tenth. Default: 600. */
  maxAgeSeconds: { kind: k.withDefault(k.number({ min: 1, max: 86_400 }), 600) },
  /**
   * Age in seconds at which keys are dropped if they cannot be refreshed; at least twice `maxAgeSeconds`. Without keys, no
   * token is accepted. Default: keys remain in use throughout an outage (KEY-4).
   */
  maxStaleSeconds: { kind: k.optional(k.number({ min: 2 })) },
  /** Logs a change of the keys, a failed refresh, and the first success after a failure. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn")) },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
  /** Returns a random number in [0, 1), for tests. Default: `Math.random`. */
  random: { kind: k.withDefault(k.func<() => number>(), () => Math.random()) },
}).withCheck(refreshFaults);

/** Options for keys that are fetched and refreshed. */
export type RefreshOptions = OptionsOf<typeof refreshOptions>;

export const keySetOptions = defineOptions("createKeySetSource()", {
  ...refreshOptions.keys,
  // Secret: an error must not show the query, which may contain a key.
  /** URL of the issuer's key set: http or https, without user and password. Required. */
  url: { kind: k.secret(k.string()) },
  /** Where the service runs; in `prod` the URL must be https (KEY-14). Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Attempts per refresh, including the first, 1 to 5 (KEY-6). Default: 2. */
  attempts: { kind: k.withDefault(k.integer({ min: 1, max: 5 }), 2) },
  /** Function that fetches. Default: the global `fetch`. */
  fetch: { kind: k.fetchKind },
}).withCheck(function* (options, name) {
  const message = urlFault(URL.parse(options.url), options.env);
  if (message !== undefined) yield fault("url", message);
  yield* refreshFaults(options, name);
});

/** Options of {@link createKeySetSource}. */
export type KeySetOptions = OptionsOf<typeof keySetOptions>;

/** Returns why keys must not be fetched from this URL in an environment, or undefined (KEY-14). */
export function urlFault(url: URL | null, env: EnvironmentName): string | undefined {
  if (url === null) return "must be a valid URL";
  const { protocol, username, password } = url;
  if (protocol !== "https:" && protocol !== "http:")
    return `must begin with https://; it begins with ${protocol}`;
  if (username !== "" || password !== "")
    return "must not contain a user name or password; key sets are public";
  if (protocol === "https:" || env !== "prod") return undefined;
  return "must begin with https:// in prod, the default env: over plain http, anyone can inject a key";
}

interface RefreshLimits {
  readonly algorithms: readonly Algorithm[];
  readonly maxAgeSeconds: number;
  readonly maxStaleSeconds: number | undefined;
}

/** Returns the faults in a combination of options for keys that are refreshed. */
export function* refreshFaults(
  { algorithms, maxAgeSeconds, maxStaleSeconds }: RefreshLimits,
  name: (option: "maxAgeSeconds") => string,
): Generator<Fault> {
  try {
    const symmetric = checkAlgorithms("", algorithms).filter(isSymmetric).join(", ");
    if (symmetric !== "")
      yield fault("algorithms", `has ${symmetric}; a key set is public, so use RS*, PS*, ES* or EdDSA`);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    yield* error.faults;
  }
  if (maxStaleSeconds === undefined || maxStaleSeconds >= 2 * maxAgeSeconds) return;
  const least = `${name("maxAgeSeconds")} (${2 * maxAgeSeconds})`;
  yield fault("maxStaleSeconds", `must be at least twice ${least}; it is ${maxStaleSeconds}`);
}

/** Converts the options of a refresh for `refreshedKeys()`, with times in milliseconds. */
export function refreshPlan(options: ResolvedOptions<(typeof refreshOptions)["keys"]>) {
  const { algorithms, timeoutSeconds, breakerCoolDownSeconds, maxAgeSeconds, maxStaleSeconds } = options;
  const { breakerFailures, logger, now, random } = options;
  return {
    algorithms: [...new Set(algorithms)],
    timeoutMs: timeoutSeconds * 1000,
    breakerFailures,
    coolDownMs: breakerCoolDownSeconds * 1000,
    maxAgeMs: maxAgeSeconds * 1000,
    maxStaleMs: maxStaleSeconds === undefined ? Infinity : maxStaleSeconds * 1000,
    logger,
    now,
    random,
  };
}
