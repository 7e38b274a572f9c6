import type { Logger } from "@svc/context";
import { integer, type Kind, number, resolveOptions, secret, string, withDefault } from "@svc/options";
import type { openDedicated } from "@svc/redis";
import { busKinds, type BusOptions, checkPauses, milliseconds } from "../bus/options.ts";

type RedisSource = Parameters<typeof openDedicated>[0];

/** Options of {@link createRedisStreamsBus}. */
export interface RedisStreamsOptions extends BusOptions {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` for TLS. Or an ioredis client, whose settings (TLS, sentinels,
   * database, key prefix) the bus uses for its own connections; it neither uses nor closes that client. Rejects a
   * client of a Redis Cluster. Required.
   */
  readonly redis: RedisSource;
  /** Prefix of all stream keys: a stream's key is prefix + topic. Default: empty. */
  readonly prefix?: string | undefined;
  /**
   * Milliseconds without a sign of life after which another consumer takes over the messages. A consumer signals every
   * third of it, however long its handlers run. Default: 30,000.
   */
  readonly minIdleMs?: number | undefined;
  /** Seconds within which a repeated id is not published again; 0 turns deduplication off. Default: 120. */
  readonly dedupSeconds?: number | undefined;
  /** Seconds between removals of messages that all groups have acknowledged; 0 turns removal off. Default: 30. */
  readonly trimEverySeconds?: number | undefined;
  /**
   * Approximate number of messages that a stream without any group keeps; a group created later misses the removed
   * older ones. 0 keeps everything. Default: 0.
   */
  readonly maxLengthWithoutGroups?: number | undefined;
  /** The largest body of a message in bytes. Default: 1,048,576. */
  readonly maxBodyBytes?: number | undefined;
}

const SUBJECT = "createRedisStreamsBus()";

const place: Kind<RedisSource> = {
  expects: "a URL that begins with redis:// or rediss://, or a client of ioredis that is not a Cluster",
  accepts: (value): value is RedisSource => {
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

/** The options with all defaults applied. */
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
