import type { Logger } from "@svc/context";
import {
  defineOptions,
  fault,
  type Fault,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import type { RedisOptions as IoredisOptions } from "ioredis";
import type { RedisClient } from "./client.ts";
import type { RedisCommandError, RedisUnavailableError, UnavailableReason } from "./errors.ts";

// ioredis options that the connection sets itself, because they decide how long a command waits.
const FIXED = [
  "commandTimeout",
  "connectTimeout",
  "maxRetriesPerRequest",
  "enableOfflineQueue",
  "autoResendUnfulfilledCommands",
  "socketTimeout",
  "retryStrategy",
  "reconnectOnError",
  "enableAutoPipelining",
  "enableReadyCheck",
  "keyPrefix",
  "lazyConnect",
  "replyMapping",
  "himportFieldsets",
  "monitor",
] as const;

/** ioredis options: TLS, user, password, sentinels, host, port and so on. */
export type ConnectionOptions = Omit<IoredisOptions, (typeof FIXED)[number]>;

/** A cluster node from which the other nodes are discovered. */
export interface ClusterSeed {
  readonly host: string;
  /** Port of the node. Default: 6379. */
  readonly port?: number | undefined;
}

/** A failed command. `unavailable`: Redis did not execute it. `error`: Redis rejected it as invalid. */
export type RedisEvent = "unavailable" | "error";

/** Log field and error classes of the package that owns the connection. */
export interface RedisOwner {
  /** The log field that contains the connection's name. */
  readonly logField: string;
  readonly UnavailableError: new (
    reason: UnavailableReason,
    retryAfterMs: number,
    reply?: string,
  ) => RedisUnavailableError;
  readonly CommandError: new (command: string, text: string) => RedisCommandError;
}

const seed: k.Kind<ClusterSeed> = {
  expects: 'an object such as { host: "redis-1", port: 6379 }',
  accepts: (value): value is ClusterSeed => {
    if (typeof value !== "object" || value === null) return false;
    const { host, port = 6379, ...others } = value as Readonly<Record<string, unknown>>;
    const wholePort = Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;
    return typeof host === "string" && host !== "" && wholePort && Object.keys(others).length === 0;
  },
};

const clientKind: k.Kind<RedisClient> = {
  ...k.objectWith<RedisClient>("an ioredis client", "call", "on", "off", "connect", "disconnect"),
  hint: (value) =>
    "sendCommand" in Object(value) ? "pass fromNodeRedis(client) for a client of node-redis" : undefined,
};

// ioredis would ignore a client or a list here and connect to 127.0.0.1:6379.
const connectionOptions: k.Kind<ConnectionOptions> = {
  expects: "an object of ioredis options; pass a client as the option client",
  accepts: (value): value is ConnectionOptions =>
    typeof value === "object" && value !== null && !Array.isArray(value) && !("sendCommand" in value),
};

/** Options of {@link createRedis}. Times are in milliseconds. */
export const redisOptions = defineOptions("createRedis()", {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS; without parameters. Default: none. */
  url: {
    kind: k.optional(
      k.secret(
        k.string({
          pattern: /^rediss?:\/\/[^?#]+$/,
          expects: "a URL that begins with redis:// or rediss://",
        }),
      ),
    ),
  },
  /** Nodes of a Redis Cluster to contact first, `{ host, port }`; used instead of `url`. Default: none. */
  cluster: { kind: k.optional(k.listOf(seed)) },
  /**
   * Additional ioredis options for the connections, such as `tls`, `username`, `password` and `sentinels`. Required without
   * `url`, `cluster` and `client`. Default: none.
   */
  connection: { kind: k.optional(k.secret(connectionOptions)) },
  /**
   * An ioredis `Redis` or `Cluster` client (or a compatible object, such as `fromNodeRedis(client)`) to use instead of opening
   * a connection. Stays open unless `closeClient` is set. Default: none.
   */
  client: { kind: k.optional(k.secret(clientKind)) },
  /** Whether `stop()` closes `client`. Default: false. */
  closeClient: { kind: k.withDefault(k.boolean(), false) },
  /**
   * Prefix for all keys, added after the prefix of `client`. Must not contain braces, which would determine the cluster
   * slot. Default: empty.
   */
  keyPrefix: {
    kind: k.withDefault(
      k.string({
        allowEmpty: true,
        pattern: /^[^{}\s]{0,64}$/,
        expects: "at most 64 characters without braces or white space",
      }),
      "",
    ),
  },
  /** Deadline of a command, including waiting for a connection (REV-7). Default: 1,000. */
  commandTimeoutMs: { kind: k.withDefault(k.milliseconds, 1000) },
  /** Time limit for making a connection. Default: 1,000. */
  connectTimeoutMs: { kind: k.withDefault(k.milliseconds, 1000) },
  /**
   * Number of consecutive replies that Redis is unusable (such as LOADING) after which the circuit breaker opens (REV-8). A
   * single timeout opens it too. Default: 3.
   */
  breakerFailures: { kind: k.withDefault(k.integer({ min: 1 }), 3) },
  /** Time between probes while the circuit breaker is open (REV-8). Default: 2,000. */
  breakerCoolDownMs: { kind: k.withDefault(k.number({ min: 0, max: k.LONGEST_MS }), 2000) },
  /** Maximum number of commands in flight, per node; more are rejected. Default: 10,000. */
  maxInFlight: { kind: k.withDefault(k.integer({ min: 1 }), 10_000) },
  /** Time limit of the readiness check; keep it below the deadline that `/ready` sets for a check. Default: 1,500. */
  readinessTimeoutMs: { kind: k.withDefault(k.milliseconds, 1500) },
  /** Logs when Redis stops responding, at most every 10 s, and when it responds again. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error")) },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
  /** Name of the readiness check, and of the connection in log messages. Default: `redis`. */
  name: { kind: k.withDefault(k.checkName, "redis") },
  /** Receives failed commands, for metrics. Its errors are ignored. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: RedisEvent) => void>()) },
}).withCheck((options, name) => faultsOfServer(options, name, "the connection"));

/** Options of {@link createRedis}. */
export type RedisOptions = OptionsOf<typeof redisOptions>;

/** {@link RedisOptions} with their defaults filled in. */
export type ResolvedRedisOptions = ResolvedOptions<(typeof redisOptions)["keys"]>;

/** Options of a guarded connection that another package opens under its own name. */
export type ConnectOptions = Omit<RedisOptions, "name" | "onEvent">;

/** {@link ConnectOptions} with their defaults filled in. */
export type ResolvedConnectOptions = Omit<ResolvedRedisOptions, "name" | "onEvent">;

type RedisPlace = Pick<ResolvedRedisOptions, "url" | "cluster" | "connection" | "client">;

/**
 * Returns a fault if the options do not name exactly one Redis.
 *
 * @param name returns an option's name as the user wrote it
 * @param owner the component that sets the ioredis options which `connection` must not contain, for the message
 */
export function faultsOfServer(
  { url, cluster, connection, client }: RedisPlace,
  name: (option: keyof RedisPlace) => string,
  owner: string,
): readonly Fault[] {
  if (client !== undefined && (url ?? cluster ?? connection) !== undefined) {
    const others = `${name("url")}, ${name("cluster")} or ${name("connection")}`;
    return [fault("client", `cannot be combined with ${others}`)];
  }
  if (url !== undefined && cluster !== undefined)
    return [fault("cluster", `cannot be combined with ${name("url")}; set one of them`)];
  if (cluster?.length === 0) return [fault("cluster", "is empty; name at least one node")];
  if ((url ?? cluster ?? connection ?? client) === undefined) {
    const others = `${name("cluster")}, ${name("connection")} or ${name("client")}`;
    return [fault("url", `is required unless ${others} is set`)];
  }
  if (url !== undefined && !k.isServerUrl(url, /^\/?\d{0,5}$/)) {
    const hint =
      "percent-encode the user name and password, and put only a database number after the address";
    return [fault("url", `is not a valid Redis URL (the value is not shown); ${hint}`)];
  }
  const fixed = Object.keys(connection ?? {}).filter((key) => FIXED.some((each) => each === key));
  if (fixed.length === 0) return [];
  return [fault("connection", `must not have ${fixed.join(", ")}: ${owner} sets these options itself`)];
}
