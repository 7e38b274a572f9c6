import { backoff } from "@svc/resilience";
import { Redis, type RedisOptions as IoredisOptions } from "ioredis";
import { followConnection, type ConnectionState } from "./connection-state.ts";
import { NotConnectedError } from "./errors.ts";

/** A connection for commands that block, such as XREADGROUP. Opened on first use and again after every loss. */
export interface DedicatedConnection {
  /** Key prefix of the caller's client. This connection does not add it. */
  readonly keyPrefix: string;
  /**
   * Sends a command. Waits for the first connection attempt after startup or a lost connection.
   * @throws NotConnectedError immediately, while there is no connection
   */
  send<T>(use: (client: Redis) => Promise<T>): Promise<T>;
  /** Resolves when the connection is established or closed, or when the signal aborts. */
  connected(signal: AbortSignal): Promise<void>;
  /** Replaces the current connection, for example when it does not respond. */
  renew(): void;
  /** Closes the connection and rejects the commands in flight. */
  close(): void;
}

/** Settings of {@link openDedicated}, in milliseconds. */
export interface DedicatedOptions {
  /** Time limit for making a connection. Required. */
  readonly connectTimeoutMs: number;
  /** Time without a reply to a command in flight after which the connection counts as lost. Required. */
  readonly silentMs: number;
}

/**
 * Opens a connection that nothing else uses, without a deadline or a circuit breaker.
 *
 * @param redis a URL, or an ioredis client whose settings (TLS, sentinels, database) are copied; the client itself is
 *   neither used nor closed
 */
export function openDedicated(
  redis: string | Redis,
  { connectTimeoutMs, silentMs }: DedicatedOptions,
): DedicatedConnection {
  let opened: { readonly client: Redis; readonly state: ConnectionState } | undefined;
  let isClosed = false;
  const settings = {
    lazyConnect: true,
    keyPrefix: "",
    // `protocol` and `replyMapping` make the reply format the same with every version of ioredis.
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
    // Reconnect on READONLY: after a failover the host name may lead to the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  } satisfies IoredisOptions;

  function open(): { readonly client: Redis; readonly state: ConnectionState } {
    if (opened !== undefined) return opened;
    const client = typeof redis === "string" ? new Redis(redis, settings) : redis.duplicate(settings);
    const state = followConnection(client, { onWrongDatabase: () => client.disconnect(true) });
    opened = { client, state };
    client.connect().catch(() => undefined);
    return opened;
  }

  return {
    keyPrefix: typeof redis === "string" ? "" : String(redis.options.keyPrefix ?? ""),
    async send(use) {
      if (isClosed) throw new NotConnectedError("closed");
      const { client, state } = open();
      if (!state.isUp) {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        if (state.isFirstAttempt) state.wait(resolve);
        else resolve(false);
        if (!(await promise)) throw new NotConnectedError(isClosed ? "closed" : state.lastFailure);
      }
      return use(client);
    },
    async connected(signal) {
      while (!isClosed && !signal.aborted) {
        const { state } = open();
        if (state.isUp) return;
        const { promise, resolve } = Promise.withResolvers<unknown>();
        const cancel = state.wait(resolve);
        signal.addEventListener("abort", resolve, { once: true });
        await promise;
        cancel();
        signal.removeEventListener("abort", resolve);
      }
    },
    renew() {
      if (opened?.state.isUp === true) opened.client.disconnect(true);
    },
    close() {
      isClosed = true;
      opened?.client.disconnect();
      opened?.state.endWaits();
    },
  };
}
