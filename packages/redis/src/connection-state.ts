import type { RedisClient } from "./client.ts";
import { connectionWord, isOfSelect } from "./errors.ts";

/** The connection state of a client, derived from its events. */
export type ConnectionState = ReturnType<typeof followConnection>;

/** ioredis statuses after a failed connection attempt, and of a client that will make no more attempts. */
const GIVEN_UP: ReadonlySet<string> = new Set(["close", "reconnecting", "disconnecting", "end"]);

/**
 * Follows a client's connection by the events that it emits.
 *
 * @param client a client, which may already be connected
 * @param events `onWrongDatabase`: the server rejected SELECT, and commands would reach database 0, which may belong to
 *   another application; the connection counts as down until it closes
 */
export function followConnection(
  client: RedisClient,
  events: {
    readonly onReady?: () => void;
    readonly onLost?: () => void;
    readonly onFailure?: (word: string) => void;
    readonly onWrongDatabase?: () => void;
  },
) {
  const waits = new Set<(connected: boolean) => void>();
  let wasReady = client.status === "ready";
  let isFirstAttempt = !GIVEN_UP.has(client.status);
  let isWrongDatabase = false;
  let lastFailure: string | undefined;

  function settle(connected: boolean): void {
    const all = [...waits];
    waits.clear();
    for (const settled of all) settled(connected);
  }

  const listeners: Readonly<Record<string, (error: unknown) => void>> = {
    error(error) {
      lastFailure = connectionWord(error);
      events.onFailure?.(lastFailure);
      if (!isOfSelect(error)) return;
      isWrongDatabase = true;
      isFirstAttempt = false;
      settle(false);
      events.onWrongDatabase?.();
    },
    "node error": (error) => {
      lastFailure = connectionWord(error);
    },
    ready() {
      if (isWrongDatabase) return;
      wasReady = true;
      isFirstAttempt = true;
      lastFailure = undefined;
      settle(true);
      events.onReady?.();
    },
    close() {
      isWrongDatabase = false;
      isFirstAttempt = wasReady;
      wasReady = false;
      if (isFirstAttempt) events.onLost?.();
      else settle(false);
    },
    end() {
      isFirstAttempt = false;
      settle(false);
    },
  };
  for (const [event, listener] of Object.entries(listeners)) client.on(event, listener);

  return {
    get isUp(): boolean {
      return client.status === "ready" && !isWrongDatabase;
    },
    /** Whether no connection attempt has failed since startup or since the last connection. */
    get isFirstAttempt(): boolean {
      return isFirstAttempt;
    },
    /** A keyword for the last failure; undefined while the client is connected. */
    get lastFailure(): string | undefined {
      return lastFailure;
    },
    /**
     * Calls `settled` once, when the current attempt to connect ends.
     * @returns a function that removes the callback
     */
    wait(settled: (connected: boolean) => void): () => void {
      waits.add(settled);
      return () => waits.delete(settled);
    },
    /** Calls all waiting callbacks with `false`. */
    endWaits: (): void => settle(false),
    /** Stops following the client, which stays open. */
    release(): void {
      for (const [event, listener] of Object.entries(listeners)) client.off(event, listener);
      settle(false);
    },
  };
}
