import type { Logger } from "@svc/context";
import {
  defineOptions,
  fault,
  inSeconds,
  kinds as k,
  type OptionsOf,
  pickOptions,
  type ResolvedOptions,
  type WithMethods,
} from "@svc/options";
import type { IncomingMessage } from "node:http";
import type { RateLimitStore } from "./bucket.ts";
import { isRedis, type RedisLike } from "./redis-store.ts";

// Method parameters are bivariant, so a function may declare the request of Express that it expects.
interface Functions {
  cost(req: IncomingMessage): number;
  key(req: IncomingMessage): string | undefined;
}

/** Returns the tokens that a request takes. */
export type CostFunction = Functions["cost"];
/** Returns the identity that a request counts for. */
export type KeyFunction = Functions["key"];

const MOST = 1_000_000_000;

const requests: k.Kind<number> = {
  ...k.integer({ min: 1, max: MOST }),
  expects: "a whole number from 1 to 1,000,000,000",
};

const store: k.Kind<RateLimitStore | RedisLike> = {
  expects: "a Redis client, or a store with take()",
  accepts: (value): value is RateLimitStore | RedisLike =>
    typeof value === "object" &&
    value !== null &&
    (typeof (value as Partial<RateLimitStore>).take === "function" || isRedis(value)),
};

const path = k.string({
  pattern: /^\/(?:.*[^/])?$/,
  expects: "a path that begins with / and does not end with it",
});

/** Options of `rateLimit()`. */
export const rateLimitOptions = defineOptions("rateLimit()", {
  /** Tokens that a bucket gains per window. Default: 100. */
  limit: { key: "limit", kind: k.withDefault(requests, 100) },
  /** Length of the window in whole seconds, at most a day. Default: 60. */
  windowSeconds: { key: "window", kind: k.withDefault(k.integer({ min: 1, max: 86_400 }), 60) },
  /** Tokens in a full bucket, which is the number of requests that may arrive in one burst. Default: `limit`. */
  burst: { key: "burst", kind: k.optional(requests) },
  /**
   * Tokens that a request takes: a number, or a function of the request that returns a whole number. A request for 0 tokens
   * is not counted; one for more than `burst` takes a full bucket. Default: 1.
   */
  cost: {
    kind: k.withDefault(k.either(requests, k.func<CostFunction>()), 1),
  },
  /** Name of the limit. Limits of one scope share their buckets, and have the same limit, window and burst. Default: `default`. */
  scope: {
    kind: k.withDefault(
      k.string({ pattern: /^[\w.-]{1,64}$/, expects: "1 to 64 letters, digits or _ . -" }),
      "default",
    ),
  },
  /**
   * Returns the identity that a request counts for; if it returns undefined, the default applies. Default: the verified
   * subject, else the tenant, else the network of the client (RATE-4).
   */
  key: { kind: k.optional(k.func<KeyFunction>()) },
  /**
   * The store that counts requests: a client of ioredis or node-redis, `cache.redis` of `@svc/cache`, a connection of
   * `@svc/redis`, or a store such as `memoryStore()`. Default: the memory of this process, for this limit alone.
   */
  store: { kind: k.optional(store) },
  /** Whether requests pass while the store does not respond; otherwise they get a 503 (RATE-5). Default: true. */
  failOpen: { key: "fail_open", kind: k.withDefault(k.boolean(), true) },
  /**
   * Paths that are not limited, with the paths below them in whole segments, in addition to `/health`, `/ready`, `/info`,
   * `/metrics`, `/openapi.json` and `/docs`. Default: none.
   */
  exemptPaths: { key: "exempt_paths", kind: k.withDefault(k.listOf(path), []) },
  /** Time limit for the store in milliseconds. Default: 100. */
  commandTimeoutMs: {
    key: "command_timeout",
    kind: k.withDefault(k.milliseconds, 100),
    inFile: inSeconds(k.number({ min: 0.001, max: 60 })),
  },
  /** Name of the service, the first part of the keys; services with one Redis need different names. Default: `app`. */
  service: {
    kind: k.withDefault(
      k.string({ pattern: /^\P{C}{1,100}$/u, expects: "1 to 100 characters without control characters" }),
      "app",
    ),
  },
  /** Logs that the store stops and starts answering, at most every 10 s. Default: none. */
  logger: { kind: k.optional(k.objectWith<Pick<Logger, "info" | "warn">>("a logger", "info", "warn")) },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
}).withCheck(faultsOfBurst);

/** Options of {@link rateLimit}. */
export type RateLimitOptions = WithMethods<OptionsOf<typeof rateLimitOptions>, Functions>;

/**
 * Options of `route()`. Omitted options have the values of the replaced limit; `burst` defaults to `limit` if `limit` or
 * `windowSeconds` is given.
 */
export const routeLimitOptions = defineOptions(
  "rateLimit()",
  pickOptions(rateLimitOptions, "limit", "windowSeconds", "burst", "cost", "scope", "key", "failOpen"),
).withCheck(faultsOfBurst);

/** Options of a limit for single routes. */
export type RouteLimitOptions = WithMethods<OptionsOf<typeof routeLimitOptions>, Functions>;

/** {@link RouteLimitOptions} with their defaults filled in. */
export type ResolvedRouteLimit = ResolvedOptions<(typeof routeLimitOptions)["keys"]>;

function* faultsOfBurst(
  { limit, burst = limit, cost }: Pick<ResolvedRouteLimit, "limit" | "burst" | "cost">,
  name: (option: "cost") => string,
) {
  if (typeof cost === "number" && cost > burst) {
    yield fault("burst", `must be at least ${name("cost")}; it is ${burst}, and ${name("cost")} is ${cost}`);
  }
}
