import type { BusMessage, DeliveryInfo } from "../event-bus.ts";

/** A message that was taken from the broker and is not acknowledged yet. */
export interface Held {
  /** What the broker calls it: the same message comes again under the same name. */
  readonly at: string;
  readonly message: BusMessage;
  /** How often it was delivered, this time included. */
  deliveries: number;
}

/** What a hand asks of its owner. */
export interface HandOptions<T extends Held> {
  readonly concurrency: number;
  /** How many messages it holds at most. */
  readonly capacity: number;
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /** How long a message waits after a handler rejected it, in milliseconds. */
  readonly pauseMs: (deliveries: number) => number;
  /** The handler has resolved. The message leaves the hand when this resolves; it does not reject. */
  readonly acknowledge: (held: T) => void | Promise<void>;
  /** The handler has rejected; the message is tried again after the pause. */
  readonly rejected: (held: T, error: unknown, pauseMs: number) => void;
  /** A message has left the hand. */
  readonly room: () => void;
}

/** The messages that one consumption has taken: runs them, keeps the order of each key, tries again. */
export interface Hand<T extends Held> {
  readonly size: number;
  readonly free: number;
  get(at: string): T | undefined;
  /** All that are not acknowledged. */
  all(): readonly T[];
  /** Takes a message. One that is there already is not taken a second time. */
  add(held: T): void;
  /** Forgets a message that has become somebody else's, unless its handler runs. */
  drop(at: string): void;
  /** Starts no further handler. Answers what no handler has been started for, or waits after a rejection. */
  halt(): readonly T[];
  /** Resolves when no handler runs and all that were done are acknowledged. */
  readonly idle: Promise<void>;
}

type State = "waiting" | "running" | "pausing" | "done";

interface Place<T> {
  readonly held: T;
  /** Those of one lane run one after the other; undefined runs beside everything. */
  readonly lane: string | undefined;
  state: State;
  timer?: NodeJS.Timeout;
}

/**
 * A message whose handler rejected is tried again here, after a pause: later ones of its topic and key wait until then,
 * so that they do not overtake it; all others go on.
 */
export function createHand<T extends Held>(options: HandOptions<T>): Hand<T> {
  const { concurrency, capacity, handler, pauseMs, acknowledge, rejected, room } = options;
  // In the order of arrival, which is the order of starting.
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
