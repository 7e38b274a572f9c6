import { backoff } from "@svc/resilience";
import { Redis, type RedisOptions } from "ioredis";
import { closedBus } from "../bus/event-bus-error.ts";
import { calledOrAborted } from "../bus/waiting.ts";
import { BROKER, connectionWord, isOfSelect, notConnected } from "./errors.ts";

/** One connection, opened on first use and reopened after every loss. */
export interface Line {
  /**
   * Sends a command. Waits for the first attempt to connect, after the start or after a loss; later it rejects at once
   * while there is no connection.
   */
  send<T>(use: (client: Redis) => Promise<T>): Promise<T>;
  /** Resolves when there is a connection or the signal aborts. */
  connected(signal: AbortSignal): Promise<void>;
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
export function openLine(make: MakeClient, connectTimeoutMs: number, silentMs: number): Line {
  const waiters = new Set<(connected: boolean) => void>();
  let client: Redis | undefined;
  let up = false;
  // Whether the first attempt, after the start or after a loss, is still running.
  let hoping = true;
  let closed = false;
  // Whether the server rejected the database: commands would go to database 0, which may belong to another service.
  let elsewhere = false;
  let lastFailure: string | undefined;

  function settle(connected: boolean): void {
    const all = [...waiters];
    waiters.clear();
    for (const tell of all) tell(connected);
  }

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
      elsewhere = true;
      made.disconnect(true);
    });
    made.on("ready", () => {
      if (elsewhere) return;
      up = true;
      hoping = true;
      lastFailure = undefined;
      settle(true);
    });
    made.on("close", () => {
      elsewhere = false;
      if (up) {
        up = false;
        return;
      }
      hoping = false;
      settle(false);
    });
    made.on("end", () => {
      hoping = false;
      settle(false);
    });
    made.connect().catch(() => undefined);
    return made;
  }

  const away = (): Error => (closed ? closedBus(BROKER) : notConnected(lastFailure));

  return {
    async send(use) {
      if (closed) throw away();
      const line = opened();
      if (!up) {
        if (!hoping) throw away();
        const { promise, resolve } = Promise.withResolvers<boolean>();
        waiters.add(resolve);
        if (!(await promise)) throw away();
      }
      return use(line);
    },
    async connected(signal) {
      while (!up && !closed && !signal.aborted) {
        opened();
        await calledOrAborted(waiters, signal);
      }
    },
    renew() {
      if (up) client?.disconnect(true);
    },
    close() {
      closed = true;
      client?.disconnect();
      settle(false);
    },
  };
}
