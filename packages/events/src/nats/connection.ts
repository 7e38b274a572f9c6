import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { createAvailability } from "./availability.ts";
import { closedBus } from "../bus/event-bus-error.ts";
import { BROKER, connectionWord, notConnected } from "./errors.ts";
import { connectOptionsOf, type ResolvedNatsJetStream } from "./options.ts";

/** A connection and its JetStream clients. */
export interface JetStream {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** Manages the connection to NATS: opens it on first use and reconnects until closed. */
export interface Connection {
  /**
   * Returns the connection. Waits for the first attempt to connect, after the start or after a loss; later it rejects
   * at once while there is no connection.
   */
  now(): Promise<JetStream>;
  /** Resolves when there is a connection, the signal aborts or the connection is closed. */
  reached(signal: AbortSignal): Promise<void>;
  /** Calls the listener when the server may have lost requests and consumers. Returns the function that unsubscribes. */
  onReset(listener: () => void): () => void;
  /** Calls the listeners: the server was unavailable or the stream was re-created. */
  reset(): void;
  close(): Promise<void>;
}

export function openConnection(options: ResolvedNatsJetStream): Connection {
  const { servers, connection: given, timeoutMs } = options;
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 2000 });
  const availability = createAvailability(() =>
    closing.signal.aborted ? closedBus(BROKER) : notConnected(lastFailure),
  );
  let current: JetStream | undefined;
  let lastFailure: string | undefined;
  let running: Promise<void> | undefined;

  function reset(): void {
    for (const listener of listeners) listener();
  }

  function failed(why: unknown): void {
    lastFailure = connectionWord(why);
    availability.failed();
  }

  function up(): void {
    lastFailure = undefined;
    availability.up();
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
          availability.lost();
          tries = 0;
        } else if (type === "reconnecting") {
          // A second attempt starts only after the first one failed.
          if (++tries > 1) availability.failed();
        } else if (type === "reconnect") {
          up();
          reset();
        }
      }
    })();
    const why = await connection.closed();
    availability.lost();
    if (why instanceof Error) lastFailure = connectionWord(why);
    await watching;
  }

  /** Uses the given connection until it is closed. */
  async function useGiven(connection: NatsConnection): Promise<void> {
    if (!connection.isClosed()) {
      current = await clientsOf(connection);
      up();
      await follow(connection);
    }
    lastFailure ??= "the connection that was given is closed";
    availability.failed();
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
          // Pings detect a server that hangs.
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
        failed(error);
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
    async now() {
      if (closing.signal.aborted) throw closedBus(BROKER);
      start();
      if (!availability.isUp) await availability.ready();
      if (current === undefined) throw notConnected(lastFailure);
      return current;
    },
    async reached(signal) {
      if (!closing.signal.aborted) start();
      await availability.reached(signal);
    },
    onReset(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reset,
    async close() {
      closing.abort();
      availability.close();
      if (given === undefined) await current?.connection.close();
      if (given === undefined) await running;
    },
  };
}
