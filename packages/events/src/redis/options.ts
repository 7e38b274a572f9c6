import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  integer,
  type Kind,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { Redis } from "ioredis";

/** What {@link createRedisStreamsBus} takes. */
export interface RedisStreamsOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` for TLS; or a client of ioredis, whose settings (TLS, sentinels,
   * database, key prefix) the bus uses for connections of its own. That client itself is neither used nor closed; one of
   * a Redis Cluster is refused. Required.
   */
  readonly redis: string | Redis;
  /** What the keys of all streams begin with: the stream of a topic is prefix + topic. Default: empty. */
  readonly prefix?: string | undefined;
  /** How long publishing may take, and making a consumption, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * After how long without a sign of life the messages that a consumer has in hand are given to another one, in
   * milliseconds. A consumer gives a sign every third of it, however long its handlers take. Default: 30,000.
   */
  readonly minIdleMs?: number | undefined;
  /** How many messages a consumption takes in advance. Default: 32, or its concurrency where that is more. */
  readonly prefetch?: number | undefined;
  /** Where a group begins that did not exist: with what is still there, or with what comes. Default: `oldest`. */
  readonly startFrom?: "oldest" | "newest" | undefined;
  /** For how long an id that was published before is not published again, in seconds; 0 turns it off. Default: 120. */
  readonly dedupSeconds?: number | undefined;
  /** How often a consumption removes what all groups are done with, in seconds; 0 turns it off. Default: 30. */
  readonly trimEverySeconds?: number | undefined;
  /**
   * About how many messages a stream keeps that has no group at all; older ones are removed, and are lost to groups that
   * come later. 0 keeps everything. Default: 0.
   */
  readonly maxLengthWithoutGroups?: number | undefined;
  /** Bytes that the body of a message may have. Default: 1,048,576. */
  readonly maxBodyBytes?: number | undefined;
  /** The pause after the first rejection of a handler, in milliseconds; it doubles each time. Default: 200. */
  readonly retryBaseMs?: number | undefined;
  /** The longest pause after a rejection, in milliseconds. Default: 30,000. */
  readonly retryMaxMs?: number | undefined;
  /** How long `stop()` and `close()` wait for handlers that run, in milliseconds. Default: 30,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** Told of a Redis that went away or came back; a logger given to `consume` has precedence. Default: nobody. */
  readonly logger?: Logger | undefined;
}

const SUBJECT = "createRedisStreamsBus()";
const milliseconds = number({ min: 10, max: 86_400_000 });

const place: Kind<string | Redis> = {
  expects: "a URL that begins with redis:// or rediss://, or a client of ioredis that is not a Cluster",
  accepts: (value): value is string | Redis => {
    if (typeof value === "string") return isRedisUrl(value);
    if (typeof value !== "object" || value === null) return false;
    const { duplicate, isCluster } = value as { readonly duplicate?: unknown; readonly isCluster?: unknown };
    return typeof duplicate === "function" && isCluster !== true;
  },
};

function isRedisUrl(value: string): boolean {
  if (!/^rediss?:\/\/[^?#]+$/.test(value)) return false;
  try {
    const { username, password, hostname, pathname } = new URL(value);
    decodeURIComponent(username + password);
    return hostname !== "" && /^\/?\d{0,5}$/.test(pathname);
  } catch {
    return false;
  }
}

/** The options with every default filled in. */
export type ResolvedRedisStreams = ReturnType<typeof resolveRedisStreamsOptions>;

/** @throws ConfigurationError */
export function resolveRedisStreamsOptions(given: RedisStreamsOptions): {
  readonly [N in keyof RedisStreamsOptions]-?: N extends "logger"
    ? Logger | undefined
    : NonNullable<RedisStreamsOptions[N]>;
} {
  const resolved = resolveOptions(SUBJECT, given, {
    redis: secret(place),
    prefix: withDefault(
      string({
        allowEmpty: true,
        pattern: /^[A-Za-z0-9_.:-]{0,64}$/,
        expects: "at most 64 letters, digits or _ . : -",
      }),
      "",
    ),
    timeoutMs: withDefault(milliseconds, 5000),
    minIdleMs: withDefault(milliseconds, 30_000),
    prefetch: withDefault(integer({ min: 1, max: 10_000 }), 32),
    startFrom: withDefault(oneOf("oldest", "newest"), "oldest"),
    dedupSeconds: withDefault(number({ min: 0, max: 86_400 }), 120),
    trimEverySeconds: withDefault(number({ min: 0, max: 86_400 }), 30),
    maxLengthWithoutGroups: withDefault(integer({ min: 0 }), 0),
    maxBodyBytes: withDefault(integer({ min: 1, max: 256 * 1024 * 1024 }), 1024 * 1024),
    retryBaseMs: withDefault(milliseconds, 200),
    retryMaxMs: withDefault(milliseconds, 30_000),
    stopTimeoutMs: withDefault(milliseconds, 30_000),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
  });
  if (resolved.retryMaxMs < resolved.retryBaseMs) {
    throw new ConfigurationError(SUBJECT, [
      { key: "retryMaxMs", message: "must not be less than retryBaseMs" },
    ]);
  }
  return resolved;
}
