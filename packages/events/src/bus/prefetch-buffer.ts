import type { Delivery } from "./broker.ts";

/** A message in the buffer. */
export interface Entry<D extends Delivery> {
  readonly delivery: D;
  /** Messages of one order key are handled one after the other; undefined: without any order. */
  readonly orderKey: string | undefined;
  state: "waiting" | "running" | "pausing" | "handled";
  /** Ends the pause after a rejection. */
  timer?: NodeJS.Timeout;
}

/**
 * Holds the messages that one consumption received, and decides which handler may start.
 *
 * @param concurrency how many handlers may run at a time
 */
export function createPrefetchBuffer<D extends Delivery>(concurrency: number) {
  // In order of arrival, which is the order in which handlers start.
  const entries = new Map<string, Entry<D>>();
  const busyKeys = new Set<string>();
  let running = 0;

  function freeKey({ orderKey }: Entry<D>): void {
    if (orderKey !== undefined) busyKeys.delete(orderKey);
  }

  /** Removes a message that is acknowledged or has been taken over. */
  function remove(entry: Entry<D>): void {
    clearTimeout(entry.timer);
    if (entry.state === "pausing") freeKey(entry);
    entries.delete(entry.delivery.position);
  }

  return {
    get size() {
      return entries.size;
    },
    get: (position: string) => entries.get(position),
    /** All messages that are not acknowledged, in order of arrival. */
    all: () => [...entries.values()].map(({ delivery }) => delivery),
    add(delivery: D): void {
      const { topic, key } = delivery.message;
      const orderKey = key === null ? undefined : `${topic} ${key}`;
      entries.set(delivery.position, { delivery, orderKey, state: "waiting" });
    },
    /** Returns the next message whose handler may start, as running; undefined when there is none. */
    startNext(): Entry<D> | undefined {
      if (running >= concurrency) return undefined;
      for (const entry of entries.values()) {
        const { orderKey, state } = entry;
        if (state !== "waiting" || (orderKey !== undefined && busyKeys.has(orderKey))) continue;
        entry.state = "running";
        if (orderKey !== undefined) busyKeys.add(orderKey);
        running++;
        return entry;
      }
      return undefined;
    },
    /** The handler resolved: the next message of its topic and key may start. */
    handled(entry: Entry<D>): void {
      entry.state = "handled";
      running--;
      freeKey(entry);
    },
    /** The handler rejected: later messages of its topic and key wait, to keep the order. */
    rejected(entry: Entry<D>): void {
      entry.state = "pausing";
      running--;
    },
    /** The pause after a rejection is over. */
    retry(entry: Entry<D>): void {
      entry.state = "waiting";
      freeKey(entry);
    },
    remove,
    /** Removes and returns the messages that wait for their first start or for a retry. */
    removeUnstarted(): readonly D[] {
      const rest = [...entries.values()].filter(({ state }) => state === "waiting" || state === "pausing");
      for (const entry of rest) remove(entry);
      return rest.map(({ delivery }) => delivery);
    },
  };
}
