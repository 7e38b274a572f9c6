import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  func,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  optional,
  type OptionalKind,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { RedisOptions as IoredisOptions } from "ioredis";
import type { RedisClient } from "./client.ts";
import { RedisCommandError, RedisUnavailableError, type UnavailableReason } from "./errors.ts";

/** Settings that decide how long a command waits. The connection sets them itself. */
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
export type ConnectionOptions = Omit<IoredisOptions, Fixed>;

/** A node of a cluster from which the others are found. */
export interface ClusterSeed {
  readonly host: string;
  /** Port of the node. Default: 6379. */
  readonly port?: number | undefined;
}

/** Options of a guarded connection, for every package that opens one. Times are in milliseconds. */
export interface ConnectOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS; without parameters. Default: none. */
  readonly url?: string | undefined;
  /** First nodes of a Redis Cluster to ask; instead of `url`. Default: none. */
  readonly cluster?: readonly ClusterSeed[] | undefined;
  /** More options of ioredis for the connections. Required without `url`, `cluster` and `client`. Default: none. */
  readonly connection?: ConnectionOptions | undefined;
  /**
   * A client of the caller's to use instead of a connection of its own: of ioredis, its `Cluster`, or with their members.
   * Stays open unless `closeClient` is set. Default: none.
   */
  readonly client?: RedisClient | undefined;
  /** Whether `stop()` closes `client`. Default: false. */
  readonly closeClient?: boolean | undefined;
  /** Prefix of all keys, after the prefix of `client`; without braces, which would decide the slot. Default: empty. */
  readonly keyPrefix?: string | undefined;
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
  /** Time limit of the readiness check; keep it under the deadline that `/ready` gives a check. Default: 1,500. */
  readonly readinessTimeoutMs?: number | undefined;
  /** Logs when Redis stops answering, at most every 10 s, and when it answers again. Default: none. */
  readonly logger?: Logger | undefined;
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** A failed command: `unavailable`: Redis did not execute it; `error`: Redis rejected it as wrong. */
export type RedisEvent = "unavailable" | "error";

/** Options of {@link createRedis}. */
export interface RedisOptions extends ConnectOptions {
  /** Name of the readiness check, and of the connection in log messages. Default: `redis`. */
  readonly name?: string | undefined;
  /** Receives failed commands, for metrics. Its errors are ignored. Default: none. */
  readonly onEvent?: ((event: RedisEvent) => void) | undefined;
}

type Absent = "url" | "cluster" | "connection" | "client" | "logger";

/** {@link ConnectOptions} with their defaults filled in. */
export type ResolvedConnectOptions = {
  readonly [N in keyof ConnectOptions]-?: N extends Absent
    ? ConnectOptions[N]
    : NonNullable<ConnectOptions[N]>;
};

/** {@link RedisOptions} with their defaults filled in. */
export interface ResolvedRedisOptions extends ResolvedConnectOptions {
  readonly name: string;
  readonly onEvent: RedisOptions["onEvent"];
}

/** How a package that offers the connection as its own names it in errors and log messages. */
export interface RedisOwner {
  /** The member of a log message that has the name of the connection. */
  readonly logField: string;
  readonly UnavailableError: new (
    reason: UnavailableReason,
    retryAfterMs: number,
    reply?: string,
  ) => RedisUnavailableError;
  readonly CommandError: new (command: string, text: string) => RedisCommandError;
}

const SUBJECT = "createRedis()";
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
  expects: "an object of options of ioredis, not a client, which is the option client",
  accepts: (value): value is ConnectionOptions =>
    typeof value === "object" && value !== null && !Array.isArray(value) && !("sendCommand" in value),
};

/** The kinds of {@link ConnectOptions}, for packages whose options include them. */
export const connectKinds: {
  readonly [N in keyof ConnectOptions]-?: OptionalKind<
    NonNullable<ConnectOptions[N]>,
    ResolvedConnectOptions[N]
  >;
} = {
  url: optional(
    secret(
      string({ pattern: /^rediss?:\/\/[^?#]+$/, expects: "a URL that begins with redis:// or rediss://" }),
    ),
  ),
  cluster: optional(listOf(seed)),
  connection: optional(secret(connectionOptions)),
  client: optional(
    secret(objectWith<RedisClient>("a client of ioredis", "call", "on", "off", "connect", "disconnect")),
  ),
  closeClient: withDefault(boolean(), false),
  keyPrefix: withDefault(
    string({
      allowEmpty: true,
      pattern: /^[^{}\s]{0,64}$/,
      expects: "at most 64 characters without braces and white space",
    }),
    "",
  ),
  commandTimeoutMs: withDefault(milliseconds, 1000),
  connectTimeoutMs: withDefault(milliseconds, 1000),
  breakerFailures: withDefault(integer({ min: 1 }), 3),
  breakerCoolDownMs: withDefault(number({ min: 0, max: LONGEST_MS }), 2000),
  maxInFlight: withDefault(integer({ min: 1 }), 10_000),
  readinessTimeoutMs: withDefault(milliseconds, 1500),
  logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
  now: withDefault(func<() => number>(), () => performance.now()),
};

/** The kind of the name of a connection and its readiness check. */
export const connectionName: Kind<string> = string({
  pattern: /^[A-Za-z0-9][\w.:-]{0,63}$/,
  expects: "1 to 64 letters, digits or _ . : -",
});

/** @throws ConfigurationError for invalid options */
export function resolveRedisOptions(given: RedisOptions): ResolvedRedisOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    ...connectKinds,
    name: withDefault(connectionName, "redis"),
    onEvent: optional(func<(event: RedisEvent) => void>()),
  });
  checkServer(SUBJECT, "the connection", resolved);
  return resolved;
}

/**
 * Checks that the options name exactly one Redis.
 *
 * @param subject the factory in error messages
 * @param owner what sets the options of ioredis that `connection` must not have
 * @throws ConfigurationError
 */
export function checkServer(
  subject: string,
  owner: string,
  { url, cluster, connection, client }: Pick<ConnectOptions, "url" | "cluster" | "connection" | "client">,
): void {
  const fault = (key: string, message: string): never => {
    throw new ConfigurationError(subject, [{ key, message }]);
  };
  if (client !== undefined && (url ?? cluster ?? connection) !== undefined)
    fault("client", "has a connection already; give it without url, cluster and connection");
  if (url !== undefined && cluster !== undefined)
    fault("cluster", "is another place than url; give one of the two");
  if (cluster?.length === 0) fault("cluster", "is empty; name at least one node");
  if ((url ?? cluster ?? connection ?? client) === undefined)
    fault("url", "is required, or cluster, or connection, or client");
  if (url !== undefined && !isUnderstood(url)) {
    const hint =
      "user and password are percent-encoded, what follows the address is the number of a database";
    fault("url", `cannot be understood (the value is not shown); ${hint}`);
  }
  const fixed = Object.keys(connection ?? {}).filter((key) => FIXED.has(key));
  if (fixed.length > 0) fault("connection", `must not have ${fixed.join(", ")}: ${owner} sets that itself`);
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

function isUnderstood(url: string): boolean {
  try {
    const { username, password, hostname, pathname } = new URL(url);
    decodeURIComponent(username + password);
    return hostname !== "" && /^\/?\d{0,5}$/.test(pathname);
  } catch {
    return false;
  }
}
