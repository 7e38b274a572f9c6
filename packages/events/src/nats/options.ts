import { defineOptions, fault, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { prefix } from "../bus/messages.ts";
import { busEntries, faultsOfPauses, milliseconds } from "../bus/options.ts";

// Options that the bus itself sets, because they determine how long a call may wait.
const FIXED = [
  "servers",
  "port",
  "reconnect",
  "maxReconnectAttempts",
  "waitOnFirstConnect",
  "timeout",
] as const;

/** Further options for `connect` from `@nats-io/transport-node`: TLS, authenticators, the client's name and others. */
export type NatsConnectOptions = Omit<NodeConnectionOptions, (typeof FIXED)[number]>;

const server: k.Kind<string> = {
  expects: "a URL such as nats://host:4222, or tls://host:4222",
  accepts: (value): value is string =>
    typeof value === "string" && /^(nats|tls):\/\/[^?#\s]+$/.test(value) && k.isServerUrl(value),
};

export const natsJetStreamOptions = defineOptions("createNatsJetStreamBus()", {
  /** `nats://user:password@host:4222` or `tls://`; a list for a cluster. Either this or `connection` is required. */
  servers: { kind: k.optional(k.secret(k.either(server, k.listOf(server)))) },
  /** Further options for connecting to `servers`. Default: none. */
  connect: { kind: k.optional(k.secret(k.objectWith<NatsConnectOptions>("an object of NATS options"))) },
  /**
   * An open connection, which the bus does not close. It should reconnect without limit (`maxReconnectAttempts: -1`).
   * Default: the bus opens a connection to `servers`.
   */
  connection: {
    kind: k.optional(k.objectWith<NatsConnection>("a NATS connection", "publish", "request", "status")),
  },
  /** Name of the JetStream stream. Default: `events`. */
  stream: {
    key: "stream",
    kind: k.withDefault(
      k.string({ pattern: /^[A-Za-z0-9_-]{1,64}$/, expects: "1 to 64 letters, digits, _ or -" }),
      "events",
    ),
  },
  /** Prefix for all subjects: a subject is prefix + topic. Default: empty. */
  prefix: { kind: k.withDefault(prefix, "") },
  /** Whether to create a missing stream and add missing subjects; if false, both are errors. Default: true. */
  manageStream: { kind: k.withDefault(k.boolean(), true) },
  /** Number of replicas for a stream that the bus creates. Default: 1. */
  replicas: { kind: k.withDefault(k.integer({ min: 1, max: 5 }), 1) },
  /** Storage type for a stream that the bus creates. Default: `file`. */
  storage: { kind: k.withDefault(k.oneOf("file", "memory"), "file") },
  /**
   * Days that a stream created by the bus keeps messages, consumed or not; 0 keeps them forever. A group that is
   * offline for longer misses messages. Default: 7.
   */
  maxAgeDays: { kind: k.withDefault(k.number({ min: 0, max: 3650 }), 7) },
  /** Duplicate window in seconds for a stream that the bus creates. Default: 120. */
  dedupSeconds: { kind: k.withDefault(k.number({ min: 1, max: 86_400 }), 120) },
  /**
   * Milliseconds without a heartbeat after which the server delivers a message to another consumer; for consumers that
   * the bus creates. A consumer sends three heartbeats within this period, however long its handlers run. Default:
   * 30,000.
   */
  ackWaitMs: { kind: k.withDefault(milliseconds, 30_000) },
  /** Maximum size of a message body in bytes; the server has its own limit. Default: 1,000,000. */
  maxBodyBytes: { kind: k.withDefault(k.integer({ min: 1, max: 64 * 1024 * 1024 }), 1_000_000) },
  ...busEntries,
}).withCheck(function* (options, name) {
  const { servers, connection, connect, maxAgeDays, dedupSeconds } = options;
  if (servers === undefined && connection === undefined)
    yield fault("servers", `is required unless ${name("connection")} is set`);
  if (servers !== undefined && connection !== undefined)
    yield fault("connection", `cannot be combined with ${name("servers")}; set one of them`);
  if (servers?.length === 0) yield fault("servers", "is empty; name at least one server");
  if (connect !== undefined && connection !== undefined)
    yield fault("connect", `applies to ${name("servers")}, not to ${name("connection")}`);
  const fixed = Object.keys(connect ?? {}).filter((key) => (FIXED as readonly string[]).includes(key));
  if (fixed.length > 0)
    yield fault("connect", `must not have ${fixed.join(", ")}: the bus sets these options itself`);
  yield* faultsOfPauses(options, name);
  if (maxAgeDays > 0 && dedupSeconds > maxAgeDays * 86_400)
    yield fault(
      "dedupSeconds",
      `must not exceed ${name("maxAgeDays")}, because ids are deleted with their messages`,
    );
});

/** Options of {@link createNatsJetStreamBus}. */
export type NatsJetStreamOptions = OptionsOf<typeof natsJetStreamOptions>;

/** The options with all defaults applied. */
export type ResolvedNatsJetStream = ResolvedOptions<(typeof natsJetStreamOptions)["keys"]>;

/** Converts the server URLs into client options. */
export function connectOptionsOf(servers: string | readonly string[]): NodeConnectionOptions {
  const urls = (typeof servers === "string" ? [servers] : servers).map((each) => new URL(each));
  const login = urls.find(({ username }) => username !== "");
  const user = decodeURIComponent(login?.username ?? "");
  const pass = decodeURIComponent(login?.password ?? "");
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === "" ? "4222" : port}`),
    // A user without a password is treated as a token, as in other NATS clients.
    ...(user === "" ? {} : pass === "" ? { token: user } : { user, pass }),
    ...(urls.some(({ protocol }) => protocol === "tls:") ? { tls: {} } : {}),
  };
}
