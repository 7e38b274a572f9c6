import type { Logger, SpanHook } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";

/** A time limit in seconds. */
export const seconds: k.Kind<number> = k.number({ min: 0.001, max: 3600 });

const origin: k.Kind<string> = {
  // A URL with a password must not appear in an error message.
  ...k.secret(k.string()),
  expects: "http:// or https:// without path, query and user-info",
  accepts: (value): value is string => typeof value === "string" && k.isHttpOrigin(value),
};

/** Options of `createClient()`. */
export const clientOptions = defineOptions("createClient()", {
  /** Name of the called service, in error messages, spans and readiness. Required. */
  name: { kind: k.checkName },
  /** Scheme, host and port of the service, such as `http://127.0.0.1:8010`. Required. */
  baseUrl: { key: "base_url", kind: origin },
  /**
   * Whether a call carries the bearer token of the current request (HTTP-3). It is never sent to another origin.
   * Default: false.
   */
  forwardAuthorization: { key: "forward_authorization", kind: k.withDefault(k.boolean(), false) },
  /** Time limit for a connection, in seconds. Default: 2. */
  connectTimeoutSeconds: { key: "connect_timeout", kind: k.withDefault(seconds, 2) },
  /** Time limit for the status and the headers of one try, in seconds. Default: 10. */
  headersTimeoutSeconds: { key: "headers_timeout", kind: k.withDefault(seconds, 10) },
  /** Longest pause in a response body, in seconds. Default: 10. */
  bodyTimeoutSeconds: { key: "body_timeout", kind: k.withDefault(seconds, 10) },
  /**
   * Time limit of a call in seconds: all tries, the waits between them, and the body. A call also ends at the deadline
   * of the current request. Default: 30.
   */
  totalTimeoutSeconds: { key: "total_timeout", kind: k.withDefault(seconds, 30) },
  /**
   * Maximum number of tries of a call, including the first. Only calls with an idempotent method or an `Idempotency-Key` are
   * retried. Default: 3.
   */
  attempts: { key: "attempts", kind: k.withDefault(k.integer({ min: 1, max: 10 }), 3) },
  /** Whether the service is not ready while this upstream is not answering. Default: false. */
  critical: { key: "critical", kind: k.withDefault(k.boolean(), false) },
  /** Average number of retries allowed per call, so that retries cannot multiply the load. Default: 0.2. */
  retryBudget: { kind: k.withDefault(k.number({ min: 0, max: 10 }), 0.2) },
  /** Maximum number of concurrent calls. Default: 50. */
  maxConcurrentCalls: { kind: k.withDefault(k.integer({ min: 1, max: 10_000 }), 50) },
  /** Maximum time in seconds that a further call waits until another call ends. Default: 0.5. */
  maxWaitSeconds: { kind: k.withDefault(k.number({ min: 0, max: 60 }), 0.5) },
  /** Consecutive failures that open the circuit breaker. Default: 5. */
  breakerFailures: { kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 5) },
  /** How long the circuit breaker stays open, in seconds. Default: 15. */
  breakerCoolDownSeconds: { kind: k.withDefault(seconds, 15) },
  /** Maximum size of a response body in bytes, except for `stream()`. Default: 10,485,760. */
  maxBodyBytes: { kind: k.withDefault(k.integer({ min: 0, max: 1024 ** 3 }), 10 * 1024 * 1024) },
  /** Maximum number of redirects to follow for a GET or HEAD, within the origin of `baseUrl`. Default: 0. */
  maxRedirects: { kind: k.withDefault(k.integer({ min: 0, max: 20 }), 0) },
  /** Whether a status from 400 to 499 is thrown as an error. Default: false. */
  throwOn4xx: { kind: k.withDefault(k.boolean(), false) },
  /** Creates a client span for each call (TRACE-9). Default: no spans. */
  span: { kind: k.optional(k.func<SpanHook>()) },
  /** Logs that the circuit breaker opens and closes. Default: none. */
  logger: { kind: k.optional(k.objectWith<Pick<Logger, "info" | "warn">>("a logger", "info", "warn")) },
  /** Clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
});

/** Options of {@link createClient}. Times are in seconds. */
export type ClientOptions = OptionsOf<typeof clientOptions>;

/** The options with their defaults filled in. */
export type ResolvedClient = ResolvedOptions<(typeof clientOptions)["keys"]>;
