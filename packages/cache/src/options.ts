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

/** What decides how long a command may wait, and therefore is not the caller's to set. */
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

/** A node of a cluster to ask for all others. */
export interface ClusterSeed {
  readonly host: string;
  /** Default: 6379. */
  readonly port?: number | undefined;
}

/** What {@link createCache} takes. Times are in milliseconds. */
export interface CacheOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS; without parameters. Default: none. */
  readonly url?: string | undefined;
  /** Nodes of a Redis Cluster to start from; instead of `url`. Default: none. */
  readonly cluster?: readonly ClusterSeed[] | undefined;
  /** Further options of ioredis for the connections. Needed where neither `url` nor `cluster` is given. Default: none. */
  readonly connection?: ConnectionOptions | undefined;
  /** What all keys begin with, those of `redis` too. No braces: they decide about slots in a cluster. Default: empty. */
  readonly keyPrefix?: string | undefined;
  /** Name of the readiness check, and in log lines. Default: `cache`. */
  readonly name?: string | undefined;
  /** How long a command may take, waiting for a connection included (REV-7). Default: 1,000. */
  readonly commandTimeoutMs?: number | undefined;
  /** How long making a connection may take. Default: 1,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Answers in a row that say that Redis is of no use (LOADING and the like), after which it is not called for a while
   * (REV-8). A command that ran into its deadline is enough by itself. Default: 3.
   */
  readonly breakerFailures?: number | undefined;
  /** For how long it is not called; then the cache asks once by itself, and so on (REV-8). Default: 2,000. */
  readonly breakerCoolDownMs?: number | undefined;
  /** Commands that may wait for an answer at a time, of each node; more are refused. Default: 10,000. */
  readonly maxInFlight?: number | undefined;
  /** Bytes of JSON that a value may have. Default: 1,048,576. */
  readonly maxValueBytes?: number | undefined;
  /** How long a filler of `getOrSet` may take. Default: 10,000. */
  readonly fillTimeoutMs?: number | undefined;
  /** How long the readiness check waits; keep it under the deadline that `/ready` gives a check. Default: 1,500. */
  readonly readinessTimeoutMs?: number | undefined;
  /** Gets a line when Redis stops answering, at most every 10 s, and when it answers again. Default: none. */
  readonly logger?: Logger | undefined;
  /** Told of hits, misses and errors, for metrics; what it throws is ignored. Default: nobody is told. */
  readonly onEvent?: ((event: CacheEvent) => void) | undefined;
  /** A clock that never goes back, in milliseconds; for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with every default filled in. */
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

// Of a client, or a list, nothing would be used, and the cache would connect to whatever listens on 127.0.0.1:6379.
const connectionOptions: Kind<ConnectionOptions> = {
  expects: "an object of options of ioredis, not a client: the cache opens connections of its own",
  accepts: (value): value is ConnectionOptions =>
    typeof value === "object" && value !== null && !Array.isArray(value) && !("sendCommand" in value),
};

/** @throws ConfigurationError */
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
