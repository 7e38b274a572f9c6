import { defineOptions, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";
import type { openDedicated } from "@svc/redis";
import { busEntries, faultsOfPauses, milliseconds } from "../bus/options.ts";

type RedisSource = Parameters<typeof openDedicated>[0];

const place: k.Kind<RedisSource> = {
  expects: "a URL that begins with redis:// or rediss://, or an ioredis client that is not a Cluster",
  accepts: (value): value is RedisSource => {
    if (typeof value === "string")
      return /^rediss?:\/\/[^?#]+$/.test(value) && k.isServerUrl(value, /^\/?\d{0,5}$/);
    if (typeof value !== "object" || value === null) return false;
    const { duplicate, isCluster } = value as { readonly duplicate?: unknown; readonly isCluster?: unknown };
    return typeof duplicate === "function" && isCluster !== true;
  },
};

export const redisStreamsOptions = defineOptions("createRedisStreamsBus()", {
  /**
   * `redis://user:password@host:6379/0`, or `rediss://` for TLS; or an ioredis client, whose settings (TLS, sentinels,
   * database, key prefix) the bus uses for its own connections. The bus neither uses nor closes that client. Rejects a
   * Redis Cluster client. Required.
   */
  redis: { kind: k.secret(place) },
  /** Prefix for all stream keys: a stream's key is prefix + topic. Default: empty. */
  prefix: {
    key: "key_prefix",
    kind: k.withDefault(
      k.string({
        allowEmpty: true,
        pattern: /^[A-Za-z0-9_.:-]{0,64}$/,
        expects: "at most 64 letters, digits or _ . : -",
      }),
      "",
    ),
  },
  /**
   * Milliseconds without a heartbeat after which another consumer takes over the messages. A consumer sends three
   * times within this period, however long its handlers run. Default: 30,000.
   */
  minIdleMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Seconds within which a repeated id is not published again; 0 turns off deduplication. Default: 120. */
  dedupSeconds: { kind: k.withDefault(k.number({ min: 0, max: 86_400 }), 120) },
  /** Seconds between removals of messages that all groups have acknowledged; 0 turns off removal. Default: 30. */
  trimEverySeconds: { kind: k.withDefault(k.number({ min: 0, max: 86_400 }), 30) },
  /**
   * Approximate number of messages that a stream without groups keeps; a group created later misses the removed
   * messages. 0 keeps all. Default: 0.
   */
  maxLengthWithoutGroups: { kind: k.withDefault(k.integer({ min: 0 }), 0) },
  /** Maximum size of a message body in bytes. Default: 1,048,576. */
  maxBodyBytes: { kind: k.withDefault(k.integer({ min: 1, max: 256 * 1024 * 1024 }), 1024 * 1024) },
  ...busEntries,
}).withCheck(faultsOfPauses);

/** Options of {@link createRedisStreamsBus}. */
export type RedisStreamsOptions = OptionsOf<typeof redisStreamsOptions>;

/** The options with all defaults applied. */
export type ResolvedRedisStreams = ResolvedOptions<(typeof redisStreamsOptions)["keys"]>;
