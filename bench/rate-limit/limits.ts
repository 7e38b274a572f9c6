import { createCache } from "@svc/cache";
import { rateLimit } from "@svc/rate-limit";
import type { RequestHandler } from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import { Redis } from "ioredis";
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterRes,
} from "rate-limiter-flexible";

/** The cases, in the order of the output. */
export const caseNames = [
  "none",
  "svc-memory",
  "svc-redis",
  "svc-cache",
  "express-rate-limit",
  "rate-limiter-flexible-memory",
  "rate-limiter-flexible-redis",
] as const;

export type CaseName = (typeof caseNames)[number];

/** The setting of a case, as JSON. */
export interface LimitSetting {
  readonly by: CaseName;
  readonly redis: { readonly url: string; readonly keyPrefix: string };
  readonly limit: number;
  readonly windowSeconds: number;
}

/** Returns whether a case stores its counts in Redis. */
export function usesRedis(by: string): boolean {
  return by.endsWith("redis") || by === "svc-cache";
}

/**
 * Returns the limit of a case, which sends `RateLimit-Limit`, `-Remaining` and `-Reset`; undefined for the case without a
 * limit.
 */
export async function limitBy(setting: LimitSetting): Promise<RequestHandler | undefined> {
  const { by, redis, limit, windowSeconds } = setting;
  const numbers = { limit, windowSeconds, service: `${redis.keyPrefix}${by}`, commandTimeoutMs: 10_000 };
  switch (by) {
    case "none":
      return undefined;
    case "svc-memory":
      return rateLimit(numbers) as unknown as RequestHandler;
    case "svc-redis":
      return rateLimit({ ...numbers, store: await connected(redis.url) }) as unknown as RequestHandler;
    case "svc-cache": {
      const cache = createCache({ url: redis.url });
      await cache.redis.exists("key");
      return rateLimit({ ...numbers, store: cache.redis }) as unknown as RequestHandler;
    }
    case "express-rate-limit":
      return expressRateLimit({
        limit,
        windowMs: windowSeconds * 1000,
        standardHeaders: "draft-6",
        legacyHeaders: false,
      });
    case "rate-limiter-flexible-memory":
      return flexible(new RateLimiterMemory({ points: limit, duration: windowSeconds }), limit);
    case "rate-limiter-flexible-redis": {
      const storeClient = await connected(redis.url);
      const keyPrefix = `${redis.keyPrefix}flexible`;
      return flexible(
        new RateLimiterRedis({ storeClient, keyPrefix, points: limit, duration: windowSeconds }),
        limit,
      );
    }
  }
}

async function connected(url: string): Promise<Redis> {
  const redis = new Redis(url);
  await redis.ping();
  return redis;
}

/** Returns the middleware that the README of rate-limiter-flexible describes, with the headers of the other cases. */
function flexible(limiter: RateLimiterAbstract, limit: number): RequestHandler {
  return (req, res, next) => {
    const setHeaders = ({ remainingPoints, msBeforeNext }: RateLimiterRes): void => {
      res.setHeader("RateLimit-Limit", String(limit));
      res.setHeader("RateLimit-Remaining", String(remainingPoints));
      res.setHeader("RateLimit-Reset", String(Math.ceil(msBeforeNext / 1000)));
    };
    limiter.consume(req.ip ?? "").then(
      (result) => {
        setHeaders(result);
        next();
      },
      (refused: RateLimiterRes) => {
        setHeaders(refused);
        res.status(429).end();
      },
    );
  };
}
