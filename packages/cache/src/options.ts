import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  func,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { RedisOptions } from "ioredis";
import type { CacheEvent } from "./events.ts";

/** Settings that decide how long a command waits. The cache sets them itself. */
type Fixed =
  | "commandTimeout"
  | "connectTimeout"
  | "maxRetriesPerRequest"
  | "enableOfflineQueue"
  | "autoResendUnfulfilledCommands"
  | "socketTimeout"
  | "retryStrategy"
  | "reconnectOnError"
  | "enableAutoPipelining"
  | "enableReadyCheck"
  | "keyPrefix"
  | "lazyConnect"
  | "replyMapping"
  | "himportFieldsets"
  | "monitor";

/** Options of ioredis: TLS, user, password, sentinels, host and port, and so on. */
export type ConnectionOptions = Omit<RedisOptions, Fixed>;

/** A node of a cluster from which the others are found. */
export interface ClusterSeed {
  readonly host: string;
  /** Port of the node. Default: 6379. */
  readonly port?: number | undefined;
}

/** Options of {@link createCache}. Times are in milliseconds. */
export interface CacheOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS; without parameters. Default: none. */
  readonly url?: string | undefined;
  /** First nodes of a Redis Cluster to ask; instead of `url`. Default: none. */
  readonly cluster?: readonly ClusterSeed[] | undefined;
  /** More options of ioredis for the connections. Required without `url` and `cluster`. Default: none. */
  readonly connection?: ConnectionOptions | undefined;
  /** Prefix of all keys, including those of `redis`; without braces, which would decide the slot. Default: empty. */
  readonly keyPrefix?: string | undefined;
  /** Name of the readiness check, and of the cache in log messages. Default: `cache`. */
  readonly name?: string | undefined;
  /** Deadline of a command, including the wait for a connection (REV-7). Default: 1,000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Time limit for making a connection. Default: 1,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Consecutive replies that Redis is unusable (such as LOADING) that open the circuit breaker (REV-8). A single timeout
   * opens it too. Default: 3.
   */
  readonly breakerFailures?: number | undefined;
  /** Time between probes while the circuit breaker is open (REV-8). Default: 2,000. */
  readonly breakerCoolDownMs?: number | undefined;
  /** Maximum number of commands in flight, per node; more are rejected. Default: 10,000. */
  readonly maxInFlight?: number | undefined;
  /** Maximum size of a value in bytes of JSON. Default: 1,048,576. */
  readonly maxValueBytes?: number | undefined;
  /** Time limit of a filler of `getOrSet`. Default: 10,000. */
  readonly fillTimeoutMs?: number | undefined;
  /** Time limit of the readiness check; keep it under the deadline that `/ready` gives a check. Default: 1,500. */
  readonly readinessTimeoutMs?: number | undefined;
  /** Logs when Redis stops answering, at most every 10 s, and when it answers again. Default: none. */
  readonly logger?: Logger | undefined;
  /** Receives hits, misses and errors, for metrics. Its errors are ignored. Default: none. */
  readonly onEvent?: ((event: CacheEvent) => void) | undefined;
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with their defaults filled in. */
export interface ResolvedOptions {
  readonly url: string | undefined;
  readonly cluster: readonly ClusterSeed[] | undefined;
  readonly connection: ConnectionOptions | undefined;
  readonly keyPrefix: string;
  readonly name: string;
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly breakerFailures: number;
  readonly breakerCoolDownMs: number;
  readonly maxInFlight: number;
  readonly maxValueBytes: number;
  readonly fillTimeoutMs: number;
  readonly readinessTimeoutMs: number;
  readonly logger: Logger | undefined;
  readonly onEvent: ((event: CacheEvent) => void) | undefined;
  readonly now: () => number;
}

const SUBJECT = "createCache()";
const LONGEST_MS = 2 ** 31 - 1;
const milliseconds = number({ min: 1, max: LONGEST_MS });

const seed: Kind<ClusterSeed> = {
  expects: 'an object such as { host: "redis-1", port: 6379 }',
  accepts: (value): value is ClusterSeed => {
    if (typeof value !== "object" || value === null) return false;
    const { host, port = 6379, ...others } = value as Readonly<Record<string, unknown>>;
    const wholePort = Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;
    return typeof host === "string" && host !== "" && wholePort && Object.keys(others).length === 0;
  },
};

// ioredis would ignore a client or a list here and connect to 127.0.0.1:6379.
const connectionOptions: Kind<ConnectionOptions> = {
  expects: "an object of options of ioredis, not a client: the cache opens connections of its own",
  accepts: (value): value is ConnectionOptions =>
    typeof value === "object" && value !== null && !Array.isArray(value) && !("sendCommand" in value),
};

/** @throws ConfigurationError for invalid options */
export function resolveCacheOptions(given: CacheOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    url: optional(
      secret(
        string({ pattern: /^rediss?:\/\/[^?#]+$/, expects: "a URL that begins with redis:// or rediss://" }),
      ),
    ),
    cluster: optional(listOf(seed)),
    connection: optional(secret(connectionOptions)),
    keyPrefix: withDefault(
      string({
        allowEmpty: true,
        pattern: /^[^{}\s]{0,64}$/,
        expects: "at most 64 characters without braces and white space",
      }),
      "",
    ),
    name: withDefault(
      string({ pattern: /^[A-Za-z0-9][\w.:-]{0,63}$/, expects: "1 to 64 letters, digits or _ . : -" }),
      "cache",
    ),
    commandTimeoutMs: withDefault(milliseconds, 1000),
    connectTimeoutMs: withDefault(milliseconds, 1000),
    breakerFailures: withDefault(integer({ min: 1 }), 3),
    breakerCoolDownMs: withDefault(number({ min: 0, max: LONGEST_MS }), 2000),
    maxInFlight: withDefault(integer({ min: 1 }), 10_000),
    maxValueBytes: withDefault(integer({ min: 1, max: 512 * 1024 * 1024 }), 1024 * 1024),
    fillTimeoutMs: withDefault(milliseconds, 10_000),
    readinessTimeoutMs: withDefault(milliseconds, 1500),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    onEvent: optional(func<(event: CacheEvent) => void>()),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  checkPlace(resolved);
  return resolved;
}

function checkPlace({
  url,
  cluster,
  connection,
}: Pick<ResolvedOptions, "url" | "cluster" | "connection">): void {
  const fault = (key: string, message: string): never => {
    throw new ConfigurationError(SUBJECT, [{ key, message }]);
  };
  if (url !== undefined && cluster !== undefined)
    fault("cluster", "is another place than url; give one of the two");
  if (cluster?.length === 0) fault("cluster", "is empty; name at least one node");
  if (url === undefined && cluster === undefined && connection === undefined) {
    fault("url", "is required, or cluster, or connection");
  }
  if (url !== undefined && !understood(url)) {
    const hint =
      "user and password are percent-encoded, what follows the address is the number of a database";
    fault("url", `cannot be understood (the value is not shown); ${hint}`);
  }
  const fixed = Object.keys(connection ?? {}).filter((key) => FIXED.has(key));
  if (fixed.length > 0) fault("connection", `must not have ${fixed.join(", ")}: the cache sets that itself`);
}

const FIXED: ReadonlySet<string> = new Set<Fixed>([
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
]);

function understood(url: string): boolean {
  try {
    const { username, password, hostname, pathname } = new URL(url);
    decodeURIComponent(username + password);
    return hostname !== "" && /^\/?\d{0,5}$/.test(pathname);
  } catch {
    return false;
  }
}
