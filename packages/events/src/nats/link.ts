import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { closedBus } from "../bus/event-bus-error.ts";
import { calledOrAborted } from "../bus/waiting.ts";
import { BROKER, connectionWord, notConnected } from "./errors.ts";
import { connectOptionsOf, type ResolvedNatsJetStream } from "./options.ts";

/** A connection and its JetStream clients. */
export interface JetStream {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** Manages the connection to NATS: opens it on first use and reconnects until closed. */
export interface Link {
  /**
   * Returns the connection. Waits for the first attempt to connect, after the start or after a loss; later it rejects
   * at once while there is no connection.
   */
  now(): Promise<JetStream>;
  /** Resolves when there is a connection or the signal aborts. */
  connected(signal: AbortSignal): Promise<void>;
  /** Calls the listener when the server may have lost pending requests. Returns the function that unsubscribes. */
  onForgotten(tell: () => void): () => void;
  /** Notifies the listeners: the server was unavailable or the stream was re-created. */
  forgotten(): void;
  close(): Promise<void>;
}

export function openLink(options: ResolvedNatsJetStream): Link {
  const { servers, connection: given, timeoutMs } = options;
  const waiters = new Set<() => void>();
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 2000 });
  let current: JetStream | undefined;
  let up = false;
  let hoping = true;
  let lastFailure: string | undefined;
  let holding: Promise<void> | undefined;

  function settle(): void {
    const all = [...waiters];
    waiters.clear();
    for (const tell of all) tell();
  }

  function forgotten(): void {
    for (const tell of listeners) tell();
  }

  function giveUpHope(why?: unknown): void {
    if (why !== undefined) lastFailure = connectionWord(why);
    hoping = false;
    settle();
  }

  function came(): void {
    up = true;
    hoping = true;
    lastFailure = undefined;
    settle();
  }

  async function speak(connection: NatsConnection): Promise<JetStream> {
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
          up = false;
          tries = 0;
        } else if (type === "reconnecting") {
          // A second attempt starts only after the first one failed.
          if (++tries > 1) giveUpHope();
        } else if (type === "reconnect") {
          came();
          forgotten();
        }
      }
    })();
    const why = await connection.closed();
    up = false;
    if (why instanceof Error) lastFailure = connectionWord(why);
    await watching;
  }

  async function hold(): Promise<void> {
    if (given !== undefined) {
      if (!given.isClosed()) {
        current = await speak(given);
        came();
        await follow(given);
      }
      lastFailure ??= "the connection that was given is closed";
      return giveUpHope();
    }
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
        current = await speak(connection);
        if (closing.signal.aborted) await connection.close();
        else came();
        failures = 0;
        await follow(connection);
      } catch (error) {
        giveUpHope(error);
      }
      failures++;
      await sleep(pause(failures), undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  const away = (): Error => (closing.signal.aborted ? closedBus(BROKER) : notConnected(lastFailure));

  /** Starts connecting on first use; returns whether the connection is up. */
  function started(): boolean {
    holding ??= hold();
    return up;
  }

  return {
    async now() {
      if (closing.signal.aborted) throw away();
      if (!started() && hoping) await new Promise<void>((resolve) => void waiters.add(resolve));
      if (!started() || current === undefined) throw away();
      return current;
    },
    async connected(signal) {
      while (!started() && !closing.signal.aborted && !signal.aborted) {
        await calledOrAborted(waiters, signal);
      }
    },
    onForgotten(tell) {
      listeners.add(tell);
      return () => void listeners.delete(tell);
    },
    forgotten,
    async close() {
      closing.abort();
      settle();
      if (given === undefined) await current?.connection.close();
      if (given === undefined) await holding;
    },
  };
}
