import { backoff } from "@svc/resilience";
import { Redis, type RedisOptions } from "ioredis";
import { closedBus } from "../bus/event-bus-error.ts";
import { calledOrAborted } from "../bus/waiting.ts";
import { BROKER, connectionWord, isOfSelect, notConnected } from "./errors.ts";

/** One connection, made when it is needed for the first time, made anew whenever it is lost. */
export interface Line {
  /**
   * Sends. While the first try to connect after the start or after a loss is under way this waits for the outcome;
   * otherwise it needs a connection at once.
   */
  send<T>(use: (client: Redis) => Promise<T>): Promise<T>;
  /** Resolves when there is a connection, or the signal aborts. */
  connected(signal: AbortSignal): Promise<void>;
  /** Gives up the connection of this moment: it does not answer. */
  renew(): void;
  close(): void;
}

/** How a client is made, with settings that have precedence over those of the user. */
export type MakeClient = (settings: RedisOptions & { readonly replyMapping: "legacy" }) => Redis;

/** Makes clients from what the user of the bus gave; `keyPrefix` is what all keys must begin with. */
export function clientsOf(redis: string | Redis): { readonly make: MakeClient; readonly keyPrefix: string } {
  if (typeof redis === "string") return { make: (settings) => new Redis(redis, settings), keyPrefix: "" };
  return {
    make: (settings) => redis.duplicate(settings),
    keyPrefix: String(redis.options.keyPrefix ?? ""),
  };
}

/**
 * @param silentMs how long the server may be silent while a command waits, in milliseconds; then the connection is dead
 */
export function openLine(make: MakeClient, connectTimeoutMs: number, silentMs: number): Line {
  const waiters = new Set<(connected: boolean) => void>();
  let client: Redis | undefined;
  let up = false;
  // Whether the first try after the start or after a loss is still under way.
  let hoping = true;
  let closed = false;
  // Whether the server refused the database: what is sent would end up in the first one, which may be somebody else's.
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
      // Replies as every version of the client gives them.
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
      // After a failover the name may lead to another server.
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
