import type { Delivery } from "./broker.ts";

/** A message in the buffer. */
export interface Entry<D extends Delivery> {
  readonly delivery: D;
  /** Messages with the same order key are handled one at a time, in order. Undefined: in any order. */
  readonly orderKey: string | undefined;
  state: "waiting" | "running" | "pausing" | "handled";
  /** Timer of the pause after a rejection. */
  timer?: NodeJS.Timeout;
}

/**
 * Creates the buffer for the messages that one subscription received. It decides which handler may start next.
 *
 * @param concurrency maximum number of concurrent handlers
 */
export function createPrefetchBuffer<D extends Delivery>(concurrency: number) {
  // Messages in order of arrival, which is also the order in which handlers start.
  const entries = new Map<string, Entry<D>>();
  const busyKeys = new Set<string>();
  let running = 0;

  function freeKey({ orderKey }: Entry<D>): void {
    if (orderKey !== undefined) busyKeys.delete(orderKey);
  }

  /** Removes a message that was acknowledged or taken over. */
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
    /** Returns all unacknowledged messages in order of arrival. */
    all: () => [...entries.values()].map(({ delivery }) => delivery),
    add(delivery: D): void {
      const { topic, key } = delivery.message;
      const orderKey = key === null ? undefined : `${topic} ${key}`;
      entries.set(delivery.position, { delivery, orderKey, state: "waiting" });
    },
    /** Returns the next message whose handler may start, and marks it as running; undefined if no handler may start. */
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
    /** Records that the handler resolved: the next message with the same topic and key may start. */
    handled(entry: Entry<D>): void {
      entry.state = "handled";
      running--;
      freeKey(entry);
    },
    /** Records that the handler rejected: later messages with the same topic and key wait, to keep the order. */
    rejected(entry: Entry<D>): void {
      entry.state = "pausing";
      running--;
    },
    /** Records that the pause after a rejection has ended. */
    retry(entry: Entry<D>): void {
      entry.state = "waiting";
      freeKey(entry);
    },
    remove,
    /** Removes and returns the messages that wait for a first start or a retry. */
    removeUnstarted(): readonly D[] {
      const rest = [...entries.values()].filter(({ state }) => state === "waiting" || state === "pausing");
      for (const entry of rest) remove(entry);
      return rest.map(({ delivery }) => delivery);
    },
  };
}
