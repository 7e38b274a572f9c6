import type { Logger } from "@svc/context";
import { integer, type Kind, number, resolveOptions, secret, string, withDefault } from "@svc/options";
import type { Redis } from "ioredis";
import { busKinds, type BusOptions, checkPauses, milliseconds } from "../bus/options.ts";

/** What {@link createRedisStreamsBus} takes. */
export interface RedisStreamsOptions extends BusOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` for TLS; or a client of ioredis, whose settings (TLS, sentinels,
   * database, key prefix) the bus uses for connections of its own. That client itself is neither used nor closed; one of
   * a Redis Cluster is refused. Required.
   */
  readonly redis: string | Redis;
  /** What the keys of all streams begin with: the stream of a topic is prefix + topic. Default: empty. */
  readonly prefix?: string | undefined;
  /**
   * After how long without a sign of life the messages that a consumer has in hand are given to another one, in
   * milliseconds. A consumer gives a sign every third of it, however long its handlers take. Default: 30,000.
   */
  readonly minIdleMs?: number | undefined;
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
}

const SUBJECT = "createRedisStreamsBus()";

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
    minIdleMs: withDefault(milliseconds, 30_000),
    dedupSeconds: withDefault(number({ min: 0, max: 86_400 }), 120),
    trimEverySeconds: withDefault(number({ min: 0, max: 86_400 }), 30),
    maxLengthWithoutGroups: withDefault(integer({ min: 0 }), 0),
    maxBodyBytes: withDefault(integer({ min: 1, max: 256 * 1024 * 1024 }), 1024 * 1024),
    ...busKinds,
  });
  checkPauses(SUBJECT, resolved);
  return resolved;
}
