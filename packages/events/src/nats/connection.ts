import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { closedBus } from "../bus/event-bus-error.ts";
import { BROKER, connectionWord, notConnected } from "./errors.ts";
import { connectOptionsOf, type ResolvedNatsJetStream } from "./options.ts";

/** A connection and its JetStream clients. */
export interface JetStream {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

export type Connection = ReturnType<typeof openConnection>;

/** Manages the connection to NATS: opens it on first use and reconnects until closed. */
export function openConnection(options: ResolvedNatsJetStream) {
  const { servers, connection: given, timeoutMs } = options;
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 2000 });
  // Functions that resume the calls which wait for the end of a connection attempt.
  const waiting = new Set<() => void>();
  let current: JetStream | undefined;
  let isUp = false;
  let isFirstAttempt = true;
  let lastFailure: string | undefined;
  let running: Promise<void> | undefined;

  function reset(): void {
    for (const listener of listeners) listener();
  }

  function endWaits(): void {
    const all = [...waiting];
    waiting.clear();
    for (const end of all) end();
  }

  function up(): void {
    lastFailure = undefined;
    isUp = true;
    isFirstAttempt = true;
    endWaits();
  }

  /** Records that a connection attempt failed, so that `now()` rejects immediately until there is a connection. */
  function failed(): void {
    isFirstAttempt = false;
    endWaits();
  }

  async function clientsOf(connection: NatsConnection): Promise<JetStream> {
    const settings = { timeout: timeoutMs };
    const manager = await jetstreamManager(connection, { ...settings, checkAPI: false });
    return { connection, client: jetstream(connection, settings), manager };
  }

  /** Tracks the state of one connection until it is closed for good. */
  async function follow(connection: NatsConnection): Promise<void> {
    let tries = 0;
    const watching = (async () => {
      for await (const { type } of connection.status()) {
        if (type === "disconnect") {
          isUp = false;
          tries = 0;
        } else if (type === "reconnecting") {
          // Report a failure only at the second attempt, which starts after the first one failed.
          if (++tries > 1) failed();
        } else if (type === "reconnect") {
          up();
          reset();
        }
      }
    })();
    const why = await connection.closed();
    isUp = false;
    if (why instanceof Error) lastFailure = connectionWord(why);
    await watching;
  }

  /** Uses the caller's connection until it is closed. */
  async function useGiven(connection: NatsConnection): Promise<void> {
    if (!connection.isClosed()) {
      current = await clientsOf(connection);
      up();
      await follow(connection);
    }
    lastFailure ??= "the connection passed to the bus is closed";
    failed();
  }

  async function connectAgainAndAgain(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted;) {
      try {
        const connection = await connect({
          name: "svc-events",
          ...options.connect,
          ...connectOptionsOf(servers ?? []),
          timeout: Math.min(timeoutMs, 5000),
          reconnect: true,
          maxReconnectAttempts: -1,
          waitOnFirstConnect: false,
          reconnectDelayHandler: () => 100 + Math.random() * 400,
          // Pings detect an unresponsive server.
          pingInterval: options.connect?.pingInterval ?? 10_000,
          maxPingOut: options.connect?.maxPingOut ?? 2,
          ignoreAuthErrorAbort: true,
        });
        current = await clientsOf(connection);
        if (closing.signal.aborted) await connection.close();
        else up();
        failures = 0;
        await follow(connection);
      } catch (error) {
        lastFailure = connectionWord(error);
        failed();
      }
      failures++;
      await sleep(pause(failures), undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  /** Starts connecting on first use. */
  function start(): void {
    running ??= given === undefined ? connectAgainAndAgain() : useGiven(given);
  }

  return {
    /**
     * Returns the connection. After the start or the loss of a connection, waits for the first connection attempt. If
     * that failed, rejects immediately until there is a connection.
     */
    async now(): Promise<JetStream> {
      if (closing.signal.aborted) throw closedBus(BROKER);
      start();
      if (!isUp && isFirstAttempt) {
        await new Promise<void>((resolve) => void waiting.add(resolve));
      }
      if (closing.signal.aborted) throw closedBus(BROKER);
      if (!isUp || current === undefined) throw notConnected(lastFailure);
      return current;
    },
    /** Resolves when there is a connection, the signal aborts, or `close()` is called. */
    async reached(signal: AbortSignal): Promise<void> {
      if (!closing.signal.aborted) start();
      while (!isUp && !closing.signal.aborted && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const end = (): void => resolve();
        waiting.add(end);
        signal.addEventListener("abort", end, { once: true });
        await promise;
        waiting.delete(end);
        signal.removeEventListener("abort", end);
      }
    },
    /**
     * Adds a listener for resets, after which the server may have lost requests and consumers. Returns a function that
     * removes the listener.
     */
    onReset(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Calls the reset listeners, because the server was unavailable or the stream was re-created. */
    reset,
    async close(): Promise<void> {
      closing.abort();
      endWaits();
      if (given !== undefined) return;
      await current?.connection.close();
      await running;
    },
  };
}
