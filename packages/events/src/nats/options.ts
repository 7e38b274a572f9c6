import {
  boolean,
  ConfigurationError,
  either,
  integer,
  type Kind,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { prefix } from "../bus/messages.ts";
import { busKinds, type BusOptions, checkPauses, milliseconds } from "../bus/options.ts";

/** Options that the bus sets itself, because they decide how long a call may wait. */
type Fixed = "servers" | "port" | "reconnect" | "maxReconnectAttempts" | "waitOnFirstConnect" | "timeout";

/** Further options of `connect` of `@nats-io/transport-node`: TLS, authenticators, the client's name and so on. */
export type NatsConnectOptions = Omit<NodeConnectionOptions, Fixed>;

/** Options of {@link createNatsJetStreamBus}. */
export interface NatsJetStreamOptions extends BusOptions {
  /** `nats://user:password@host:4222` or `tls://`; several for a cluster. Either this or `connection` is required. */
  readonly servers?: string | readonly string[] | undefined;
  /** Further options for connecting to `servers`. Default: none. */
  readonly connect?: NatsConnectOptions | undefined;
  /**
   * An open connection, which the bus does not close. It should reconnect without limit (`maxReconnectAttempts: -1`).
   * Default: the bus opens its own.
   */
  readonly connection?: NatsConnection | undefined;
  /** The name of the JetStream stream. Default: `events`. */
  readonly stream?: string | undefined;
  /** Prefix of all subjects: a subject is prefix + topic. Default: empty. */
  readonly prefix?: string | undefined;
  /** Whether to create a missing stream and add missing subjects. Otherwise either is an error. Default: true. */
  readonly manageStream?: boolean | undefined;
  /** Replicas of a stream that the bus creates. Default: 1. */
  readonly replicas?: number | undefined;
  /** Storage of a stream that the bus creates. Default: `file`. */
  readonly storage?: "file" | "memory" | undefined;
  /**
   * Days that a stream created by the bus keeps messages, consumed or not; 0 keeps them forever. A group that is
   * offline for longer misses messages. Default: 7.
   */
  readonly maxAgeDays?: number | undefined;
  /** The duplicate window of a stream that the bus creates, in seconds. Default: 120. */
  readonly dedupSeconds?: number | undefined;
  /**
   * Milliseconds without a sign of life after which the server delivers a message to another consumer; for consumers
   * that the bus creates. A consumer signals every third of it, however long its handlers run. Default: 30,000.
   */
  readonly ackWaitMs?: number | undefined;
  /** The largest body of a message in bytes; the server has its own limit. Default: 1,000,000. */
  readonly maxBodyBytes?: number | undefined;
}

const SUBJECT = "createNatsJetStreamBus()";

const server: Kind<string> = {
  expects: "a URL such as nats://host:4222, or tls://host:4222",
  accepts: (value): value is string => {
    if (typeof value !== "string" || !/^(nats|tls):\/\/[^?#\s]+$/.test(value)) return false;
    try {
      const { username, password, hostname, pathname } = new URL(value);
      decodeURIComponent(username + password);
      return hostname !== "" && /^\/?$/.test(pathname);
    } catch {
      return false;
    }
  },
};

const FIXED: readonly Fixed[] = [
  "servers",
  "port",
  "reconnect",
  "maxReconnectAttempts",
  "waitOnFirstConnect",
  "timeout",
];

/** The options with all defaults applied. */
export type ResolvedNatsJetStream = {
  readonly [N in keyof NatsJetStreamOptions]-?: N extends "logger" | "connection" | "servers" | "connect"
    ? NatsJetStreamOptions[N]
    : NonNullable<NatsJetStreamOptions[N]>;
};

/** @throws ConfigurationError */
export function resolveNatsJetStreamOptions(given: NatsJetStreamOptions): ResolvedNatsJetStream {
  const resolved = resolveOptions(SUBJECT, given, {
    servers: optional(secret(either(server, listOf(server)))),
    connect: optional(secret(objectWith<NatsConnectOptions>("an object of options of NATS"))),
    connection: optional(objectWith<NatsConnection>("a connection of NATS", "publish", "request", "status")),
    stream: withDefault(
      string({ pattern: /^[A-Za-z0-9_-]{1,64}$/, expects: "1 to 64 letters, digits, _ or -" }),
      "events",
    ),
    prefix: withDefault(prefix, ""),
    manageStream: withDefault(boolean(), true),
    replicas: withDefault(integer({ min: 1, max: 5 }), 1),
    storage: withDefault(oneOf("file", "memory"), "file"),
    maxAgeDays: withDefault(number({ min: 0, max: 3650 }), 7),
    dedupSeconds: withDefault(number({ min: 1, max: 86_400 }), 120),
    ackWaitMs: withDefault(milliseconds, 30_000),
    maxBodyBytes: withDefault(integer({ min: 1, max: 64 * 1024 * 1024 }), 1_000_000),
    ...busKinds,
  });
  const fault = (key: string, message: string): never => {
    throw new ConfigurationError(SUBJECT, [{ key, message }]);
  };
  const { servers, connection, connect, maxAgeDays, dedupSeconds } = resolved;
  if (servers === undefined && connection === undefined) fault("servers", "is required, or connection");
  if (servers !== undefined && connection !== undefined)
    fault("connection", "is another place than servers; give one of the two");
  if (servers?.length === 0) fault("servers", "is empty; name at least one server");
  if (connect !== undefined && connection !== undefined)
    fault("connect", "is for servers, not for connection");
  const fixed = Object.keys(connect ?? {}).filter((key) => (FIXED as readonly string[]).includes(key));
  if (fixed.length > 0) fault("connect", `must not have ${fixed.join(", ")}: the bus sets that itself`);
  checkPauses(SUBJECT, resolved);
  if (maxAgeDays > 0 && dedupSeconds > maxAgeDays * 86_400)
    fault("dedupSeconds", "must not be more than maxAgeDays: ids are forgotten with their messages");
  return resolved;
}

/** Converts the server URLs into options of the client. */
export function connectOptionsOf(servers: string | readonly string[]): NodeConnectionOptions {
  const urls = (typeof servers === "string" ? [servers] : servers).map((each) => new URL(each));
  const login = urls.find(({ username }) => username !== "");
  const user = decodeURIComponent(login?.username ?? "");
  const pass = decodeURIComponent(login?.password ?? "");
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === "" ? "4222" : port}`),
    // A user without a password is a token, as in other NATS clients.
    ...(user === "" ? {} : pass === "" ? { token: user } : { user, pass }),
    ...(urls.some(({ protocol }) => protocol === "tls:") ? { tls: {} } : {}),
  };
}
