import { ConfigurationError, fault } from "@svc/options";
import type { CommandArgument, RedisClient } from "./client.ts";

type Listener = (error: unknown) => void;

/** The members of a client of node-redis that a connection uses: the result of `createClient()` of the package `redis` 5. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  sendCommand(args: (string | Buffer)[], options?: object): Promise<unknown>;
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
}

// This type mapping returns RESP2 replies, with every text as a string, regardless of the client's settings. The keys are the
// first bytes of the RESP3 types map, set, double, big number, verbatim string, bulk string and simple string.
const TYPES: Readonly<Record<number, unknown>> = {
  37: Array,
  126: Array,
  44: String,
  40: String,
  61: String,
  36: String,
  43: String,
};
// Without a listener for errors, a client of node-redis gives up at the first lost connection and emits nothing more, not even to
// listeners that are added later. So this listener stays when a connection is stopped and its own listeners are removed.
const ignore: Listener = () => undefined;
const heard = new WeakSet<NodeRedisClient>();
const REPLY_ERRORS: ReadonlySet<string> = new Set(["ErrorReply", "SimpleError", "BlobError"]);

/**
 * Returns a client of node-redis in the form that `createRedis({ client })` and `createCache({ client })` take. If the client is
 * not open, they open it. The client keeps one listener for `error`, so that it still reconnects after `stop()`.
 *
 * @throws ConfigurationError for anything other than a client from `createClient()`, such as a cluster, a pool or a sentinel of
 *   node-redis
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  if (!isClient(client)) {
    const message =
      "must be a client from createClient() of node-redis 5; for a cluster or sentinels, use a client of ioredis";
    throw new ConfigurationError("fromNodeRedis()", [fault("client", message)]);
  }
  if (!heard.has(client)) client.on("error", ignore);
  heard.add(client);
  let wasOpen = client.isOpen;
  const attached = new Map<string, Map<Listener, () => void>>();

  return {
    get status() {
      if (client.isReady) return "ready";
      if (client.isOpen) return "connecting";
      return wasOpen ? "end" : "wait";
    },
    async call(command, ...args) {
      try {
        return await client.sendCommand([command, ...args.map(asText)], { typeMapping: TYPES });
      } catch (error) {
        throw withReplyName(error, command);
      }
    },
    on(event, listener) {
      const listeners = attached.get(event) ?? new Map<Listener, () => void>();
      attached.set(event, listeners.set(listener, attach(client, event, listener)));
    },
    off(event, listener) {
      attached.get(event)?.get(listener)?.();
      attached.get(event)?.delete(listener);
    },
    connect() {
      wasOpen = true;
      return client.connect();
    },
    disconnect() {
      wasOpen = true;
      if (client.isOpen) client.destroy();
    },
  };
}

/** Listens for an event of ioredis, and returns a function that stops listening. */
function attach(client: NodeRedisClient, event: string, listener: Listener): () => void {
  const listeners: [string, Listener][] = [[event, listener]];
  if (event === "error") listeners[0] = ["error", (error) => listener(withReplyName(error, "connect"))];
  // node-redis reports each lost connection, and each failed attempt, by the attempt that follows it.
  else if (event === "close") listeners[0] = ["reconnecting", listener];
  // After its last attempt, node-redis emits only an error.
  else if (event === "end") listeners.push(["error", (error) => void (client.isOpen || listener(error))]);
  for (const [name, each] of listeners) client.on(name, each);
  return () => {
    for (const [name, each] of listeners) client.off(name, each);
  };
}

function asText(argument: CommandArgument): string | Buffer {
  return typeof argument === "number" ? String(argument) : argument;
}

/** Returns an error reply of Redis with the name and the command that ioredis gives it; any other error unchanged. */
function withReplyName(error: unknown, command: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const isReply = REPLY_ERRORS.has(error.constructor.name) || /^[A-Z]{2,30}(?: |$)/.test(error.message);
  if (code !== undefined || !isReply) return error;
  const reply = new Error(error.message, { cause: error });
  return Object.assign(reply, { name: "ReplyError", command: { name: command } });
}

// The other kinds of clients of node-redis take other arguments in sendCommand().
function isClient(client: unknown): client is NodeRedisClient {
  const seen = Object(client) as Readonly<Record<string, unknown>>;
  return (
    ["sendCommand", "on", "off", "connect", "destroy"].every((name) => typeof seen[name] === "function") &&
    typeof seen["isOpen"] === "boolean" &&
    typeof seen["isReady"] === "boolean" &&
    !["acquire", "masters"].some((name) => name in seen)
  );
}
