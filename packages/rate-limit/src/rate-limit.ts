import { describeGuard, type Middleware, pathOf, type ReadinessCheck } from "@svc/context";
import { namesOf, optionError } from "@svc/options";
import { isThenable } from "@svc/resilience";
import type { IncomingMessage, ServerResponse } from "node:http";
import { limitExceeded, remainingOf, setLimitHeaders, storeUnavailable } from "./answers.ts";
import type { RateLimitStore, Taken } from "./bucket.ts";
import { exemptPaths } from "./exempt-paths.ts";
import { type GuardedStore, guardStore } from "./guarded-store.ts";
import { identityOf } from "./identity.ts";
import { limitsAhead } from "./limits-ahead.ts";
import { memoryStore } from "./memory-store.ts";
import {
  type CostFunction,
  type KeyFunction,
  type RateLimitOptions,
  rateLimitOptions,
  type ResolvedRouteLimit,
  type RouteLimitOptions,
  routeLimitOptions,
} from "./options.ts";
import { type RedisLike, redisStore } from "./redis-store.ts";
import { isSameBucket, keyRoot, type Scope, scopeIn, shownBucket } from "./scopes.ts";

/** Middleware that limits requests. */
export interface RateLimit extends Middleware {
  /**
   * Returns a limit for single routes, which replaces this limit for these routes and uses the same store.
   *
   * @throws ConfigurationError for invalid options, and for a scope that already has a different limit, window or burst
   */
  readonly route: (options?: RouteLimitOptions) => Middleware;
  /** Returns the check `rate_limit`, which is never critical. It takes a token from its own bucket. */
  readonly readiness: () => ReadinessCheck;
}

/** The settings with which a limit charges requests. */
interface Limit {
  readonly scope: Scope;
  readonly cost: number | CostFunction;
  readonly key: KeyFunction | undefined;
  readonly failOpen: boolean;
}

interface Charges {
  readonly scopes: Scope[];
  /** The lowest number of remaining requests, which the response shows. */
  remaining: number;
}

const CHARGES: unique symbol = Symbol("@svc/rate-limit/charges") as never;

interface ChargedRequest extends IncomingMessage {
  [CHARGES]?: Charges;
}

/**
 * Limits requests with a token bucket per caller (RATE-1 to RATE-5). Passes a 429 problem to `next`.
 *
 * @throws ConfigurationError for invalid options, and for a scope that already has a different limit, window or burst in
 *   the same store
 */
export function rateLimit(options?: RateLimitOptions): RateLimit {
  const resolved = rateLimitOptions.resolve(options);
  const { service, failOpen, commandTimeoutMs, now, logger } = resolved;
  const storage = resolved.store ?? memoryStore({ now });
  const probeKey = `${keyRoot(service)}{ready}`;
  const store = guardStore(storeOf(storage), { commandTimeoutMs, failOpen, now, logger, probeKey });
  const isExempt = exemptPaths(resolved.exemptPaths);
  const routes = new WeakMap<object, Limit>();
  let hasRoutes = false;
  const base = limitOf(resolved, options);

  function limitOf(settings: ResolvedRouteLimit, given: object | undefined): Limit {
    const { limit, windowSeconds, burst = limit, cost, key } = settings;
    const bucket = { limit, windowSeconds, burst };
    const scope = scopeIn(storage, service, settings.scope, bucket);
    if (!isSameBucket(scope.bucket, bucket)) {
      const message = `${scope.name} has the limit ${shownBucket(scope.bucket)} already; a limit of ${shownBucket(bucket)} needs a scope of its own`;
      throw optionError(namesOf(given, "rateLimit()"), "scope", message);
    }
    return { scope, cost, key, failOpen: settings.failOpen };
  }

  /** Charges the limits of routes too, before the body is read, so that a request is charged only once, by one limit. */
  function rateLimitMiddleware(
    req: IncomingMessage,
    res: ServerResponse,
    next: (error?: unknown) => void,
  ): void {
    if (isExempt(pathOf(req))) return next();
    const ahead = hasRoutes ? limitsAhead(req, routeLimitOf) : NO_LIMITS;
    if (ahead.length === 0) charge(store, base, req, res, next);
    else chargeAll(store, ahead, 0, req, res, next);
  }

  function routeLimitOf(handle: unknown): Limit | undefined {
    return typeof handle === "function" ? routes.get(handle) : undefined;
  }

  function route(given: RouteLimitOptions = {}): Middleware {
    const { limit, windowSeconds, burst, cost, scope, key } = resolved;
    const hasNumbers = given.limit !== undefined || given.windowSeconds !== undefined;
    const inherited = {
      limit,
      windowSeconds,
      burst: hasNumbers ? undefined : burst,
      cost,
      scope,
      key,
      failOpen,
    };
    const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const made = limitOf(routeLimitOptions.resolve({ ...inherited, ...own }), given);
    // Paths are exempt from the service's limit only: a route with its own limit is limited.
    const middleware = describe(made, function routeLimitMiddleware(req, res, next) {
      charge(store, made, req, res, next);
    });
    routes.set(middleware, made);
    hasRoutes = true;
    return middleware;
  }

  return Object.assign(describe(base, rateLimitMiddleware), { route, readiness: store.readiness });
}

const NO_LIMITS: readonly Limit[] = [];

function storeOf(storage: RateLimitStore | RedisLike): RateLimitStore {
  return "take" in storage ? storage : redisStore(storage);
}

/** Describes a limit for tools that list the routes of a service. */
function describe({ scope }: Limit, middleware: Middleware): Middleware {
  const { limit, windowSeconds } = scope.bucket;
  return describeGuard("rate-limit", [`${limit} per ${windowSeconds}s`], middleware);
}

function chargeAll(
  store: GuardedStore,
  limits: readonly Limit[],
  index: number,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const limit = limits[index];
  if (limit === undefined) return next();
  charge(store, limit, req, res, (error) => {
    if (error === undefined) chargeAll(store, limits, index + 1, req, res, next);
    else next(error);
  });
}

/** Charges a request, unless a limit of the same scope has charged it. */
function charge(
  store: GuardedStore,
  limit: Limit,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const { scope } = limit;
  const charges = ((req as ChargedRequest)[CHARGES] ??= { scopes: [], remaining: Infinity });
  if (charges.scopes.includes(scope)) return next();
  let cost: number;
  let key: string;
  try {
    cost = costOf(limit, req);
    key = `${scope.keyPrefix}${identityOf(req, ownKeyOf(limit, req))}}`;
  } catch (error) {
    return next(error);
  }
  charges.scopes.push(scope);
  if (cost === 0) return next();

  const decide = (taken: Taken | undefined): void => {
    if (taken === undefined) return limit.failOpen ? next() : next(storeUnavailable(store.retryAfterMs));
    if (!taken.isAdmitted) return next(limitExceeded(scope.bucket, taken, cost));
    const remaining = remainingOf(taken);
    if (remaining < charges.remaining) {
      charges.remaining = remaining;
      setLimitHeaders(res, scope.bucket, taken);
    }
    next();
  };
  const taken = store.take(key, scope.bucket, cost);
  if (isThenable(taken)) void taken.then(decide);
  else decide(taken);
}

/** @throws TypeError for a result that is not a whole number of at least 0 */
function costOf({ cost, scope }: Limit, req: IncomingMessage): number {
  if (typeof cost === "number") return cost;
  const value: unknown = cost(req);
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new TypeError(
      `cost() of the rate limit ${scope.name} must return a whole number from 0; it returned ${String(value)}`,
    );
  }
  return Math.min(value as number, scope.bucket.burst);
}

/** @throws TypeError for a result that is neither a non-empty string nor undefined */
function ownKeyOf({ key, scope }: Limit, req: IncomingMessage): string | undefined {
  const value: unknown = key?.(req);
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  throw new TypeError(
    `key() of the rate limit ${scope.name} must return a non-empty string or undefined; it returned ${typeof value}`,
  );
}
