import type { BusMessage, DeliveryInfo } from "../event-bus.ts";

/** A message that was received from the broker and is not acknowledged yet. */
export interface Held {
  /** The broker's identifier of the message; a redelivery has the same one. */
  readonly at: string;
  readonly message: BusMessage;
  /** How many times it was delivered, including this delivery. */
  deliveries: number;
}

/** Limits and callbacks of a {@link Hand}. */
export interface HandOptions<T extends Held> {
  readonly concurrency: number;
  /** The maximum number of messages it holds. */
  readonly capacity: number;
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /** Returns the pause after a rejection, in milliseconds. */
  readonly pauseMs: (deliveries: number) => number;
  /** Called after the handler resolved. The message is removed when this promise resolves; it never rejects. */
  readonly acknowledge: (held: T) => void | Promise<void>;
  /** Called after the handler rejected; the message is retried after the pause. */
  readonly rejected: (held: T, error: unknown, pauseMs: number) => void;
  /** Called after a message was removed. */
  readonly room: () => void;
}

/** Holds the messages that one consumption received: calls the handler, keeps the order per key and retries. */
export interface Hand<T extends Held> {
  readonly size: number;
  readonly free: number;
  get(at: string): T | undefined;
  /** All messages that are not acknowledged. */
  all(): readonly T[];
  /** Adds a message. Ignores one that it already holds. */
  add(held: T): void;
  /** Removes a message that another consumer has taken over, unless its handler runs. */
  drop(at: string): void;
  /** Starts no further handler. Returns the messages that wait for their first start or for a retry. */
  halt(): readonly T[];
  /** Resolves when no handler runs and every handled message is acknowledged. */
  readonly idle: Promise<void>;
}

type State = "waiting" | "running" | "pausing" | "done";

interface Place<T> {
  readonly held: T;
  /** Messages of one lane are handled one after the other; undefined: without any order. */
  readonly lane: string | undefined;
  state: State;
  timer?: NodeJS.Timeout;
}

/**
 * Creates a {@link Hand}. A rejected message is retried after a pause; later messages of its topic and key wait for it
 * to keep the order, all others continue.
 */
export function createHand<T extends Held>(options: HandOptions<T>): Hand<T> {
  const { concurrency, capacity, handler, pauseMs, acknowledge, rejected, room } = options;
  // In order of arrival, which is the order in which handlers start.
  const places = new Map<string, Place<T>>();
  const busyLanes = new Set<string>();
  const idle = Promise.withResolvers<void>();
  let running = 0;
  let halted = false;

  function pump(): void {
    if (halted || running >= concurrency) return;
    for (const place of places.values()) {
      if (place.state !== "waiting" || (place.lane !== undefined && busyLanes.has(place.lane))) continue;
      place.state = "running";
      if (place.lane !== undefined) busyLanes.add(place.lane);
      running++;
      void run(place);
      if (running >= concurrency) return;
    }
  }

  async function run(place: Place<T>): Promise<void> {
    const { held } = place;
    try {
      await handler(held.message, { deliveries: held.deliveries });
    } catch (error) {
      running--;
      pause(place, error);
      pump();
      settle();
      return;
    }
    running--;
    place.state = "done";
    if (place.lane !== undefined) busyLanes.delete(place.lane);
    pump();
    await acknowledge(held);
    leave(place);
  }

  function pause(place: Place<T>, error: unknown): void {
    place.state = "pausing";
    const ms = pauseMs(place.held.deliveries);
    place.held.deliveries++;
    rejected(place.held, error, ms);
    if (halted) return;
    place.timer = setTimeout(() => {
      place.state = "waiting";
      if (place.lane !== undefined) busyLanes.delete(place.lane);
      pump();
    }, ms);
  }

  function leave(place: Place<T>): void {
    places.delete(place.held.at);
    settle();
    if (!halted) room();
  }

  function settle(): void {
    if (!halted || running > 0) return;
    for (const { state } of places.values()) if (state === "done") return;
    idle.resolve();
  }

  return {
    get size() {
      return places.size;
    },
    get free() {
      return Math.max(0, capacity - places.size);
    },
    get: (at) => places.get(at)?.held,
    all: () => [...places.values()].map(({ held }) => held),
    add(held) {
      if (halted || places.has(held.at)) return;
      const { topic, key } = held.message;
      places.set(held.at, {
        held,
        lane: key === null ? undefined : `${topic} ${key}`,
        state: "waiting",
      });
      pump();
    },
    drop(at) {
      const place = places.get(at);
      if (place === undefined || place.state === "running" || place.state === "done") return;
      clearTimeout(place.timer);
      if (place.state === "pausing" && place.lane !== undefined) busyLanes.delete(place.lane);
      leave(place);
      pump();
    },
    halt() {
      halted = true;
      const rest = [...places.values()].filter(({ state }) => state === "waiting" || state === "pausing");
      for (const { timer, held } of rest) {
        clearTimeout(timer);
        places.delete(held.at);
      }
      settle();
      return rest.map(({ held }) => held);
    },
    idle: idle.promise,
  };
}
