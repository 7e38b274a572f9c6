import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { closedBus } from "../bus/event-bus-error.ts";
import { calledOrAborted } from "../bus/waiting.ts";
import { BROKER, connectionWord, notConnected } from "./errors.ts";
import { connectOptionsOf, type ResolvedNatsJetStream } from "./options.ts";

/** A connection with what is spoken over it. */
export interface JetStream {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** The connection to NATS: made when it is needed for the first time, and then for ever. */
export interface Link {
  /**
   * The connection. While the first try to connect after the start or after a loss is under way this waits for the
   * outcome; otherwise it needs a connection at once.
   */
  now(): Promise<JetStream>;
  /** Resolves when there is a connection, or the signal aborts. */
  connected(signal: AbortSignal): Promise<void>;
  /** Called when requests that stand may be known to nobody any more. Answers how to end that. */
  onForgotten(tell: () => void): () => void;
  /** Says that they may be: the server was away, or the stream was made anew. */
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

  /** Keeps track of one connection until it is closed for good. */
  async function follow(connection: NatsConnection): Promise<void> {
    let tries = 0;
    const watching = (async () => {
      for await (const { type } of connection.status()) {
        if (type === "disconnect") {
          up = false;
          tries = 0;
        } else if (type === "reconnecting") {
          // The second try comes after the first one has failed.
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
          // A server that hangs is found out by it.
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

  /** Also says whether there is a connection at this moment. */
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
