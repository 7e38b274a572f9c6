import { backoff } from "@svc/resilience";
import { Redis, type RedisOptions } from "ioredis";
import { closedBus } from "../bus/event-bus-error.ts";
import { createAvailability } from "../bus/availability.ts";
import { BROKER, connectionWord, isOfSelect, notConnected } from "./errors.ts";

/** One connection, opened on first use and reopened after every loss. */
export interface Connection {
  /**
   * Sends a command. Waits for the first attempt to connect, after the start or after a loss; later it rejects at once
   * while there is no connection.
   */
  send<T>(use: (client: Redis) => Promise<T>): Promise<T>;
  /** Resolves when there is a connection, the signal aborts or the connection is closed. */
  reached(signal: AbortSignal): Promise<void>;
  /** Replaces the current connection, which does not answer. */
  renew(): void;
  close(): void;
}

/** Creates a client; the given settings take precedence over the user's. */
export type MakeClient = (settings: RedisOptions & { readonly replyMapping: "legacy" }) => Redis;

/** Returns a factory of clients for the option `redis`; all keys must start with `keyPrefix`. */
export function clientsOf(redis: string | Redis): { readonly make: MakeClient; readonly keyPrefix: string } {
  if (typeof redis === "string") return { make: (settings) => new Redis(redis, settings), keyPrefix: "" };
  return {
    make: (settings) => redis.duplicate(settings),
    keyPrefix: String(redis.options.keyPrefix ?? ""),
  };
}

/** @param silentMs milliseconds without an answer to a pending command after which the connection counts as dead */
export function openConnection(make: MakeClient, connectTimeoutMs: number, silentMs: number): Connection {
  const availability = createAvailability(() => (closed ? closedBus(BROKER) : notConnected(lastFailure)));
  let client: Redis | undefined;
  let closed = false;
  // Whether the server rejected the database: commands would go to database 0, which may belong to another service.
  let isWrongDatabase = false;
  let lastFailure: string | undefined;

  function opened(): Redis {
    if (client !== undefined) return client;
    const made = make({
      lazyConnect: true,
      keyPrefix: "",
      // The same reply format with every version of the client.
      protocol: 2,
      replyMapping: "legacy",
      connectTimeout: Math.ceil(connectTimeoutMs),
      socketTimeout: Math.ceil(silentMs),
      commandTimeout: undefined,
      blockingTimeout: undefined,
      disconnectTimeout: 100,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      enableAutoPipelining: false,
      enableReadyCheck: false,
      stringNumbers: false,
      monitor: false,
      retryStrategy: backoff({ baseMs: 50, minMs: 50, maxMs: 2000 }),
      // After a failover the host name may lead to another server.
      reconnectOnError: (error) => error.message.startsWith("READONLY"),
    });
    client = made;
    made.on("error", (error: unknown) => {
      lastFailure = connectionWord(error);
      if (!isOfSelect(error)) return;
      isWrongDatabase = true;
      made.disconnect(true);
    });
    made.on("ready", () => {
      if (isWrongDatabase) return;
      lastFailure = undefined;
      availability.up();
    });
    made.on("close", () => {
      isWrongDatabase = false;
      if (availability.isUp) availability.lost();
      else availability.failed();
    });
    made.on("end", () => availability.failed());
    made.connect().catch(() => undefined);
    return made;
  }

  return {
    async send(use) {
      if (closed) throw closedBus(BROKER);
      const connection = opened();
      if (!availability.isUp) await availability.ready();
      return use(connection);
    },
    async reached(signal) {
      if (!closed) opened();
      await availability.reached(signal);
    },
    renew() {
      if (availability.isUp) client?.disconnect(true);
    },
    close() {
      closed = true;
      client?.disconnect();
      availability.close();
    },
  };
}
