import type { DeliveryInfo, BusMessage } from "../event-bus.ts";
import type { Delivery } from "./broker.ts";

/** Limits and callbacks of a {@link PrefetchBuffer}. */
export interface PrefetchOptions<D extends Delivery> {
  readonly concurrency: number;
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /** Returns the pause after a rejection, in milliseconds. */
  readonly pauseMs: (deliveries: number) => number;
  /** Called after the handler resolved. The message is removed when this promise resolves; it never rejects. */
  readonly acknowledge: (delivery: D) => void | Promise<void>;
  /** Called after the handler rejected; the message is retried after the pause. */
  readonly rejected: (delivery: D, error: unknown, pauseMs: number) => void;
  /** Called after a message was removed. */
  readonly removed: () => void;
}

/** Holds the messages that one consumption received: calls the handler, keeps the order per key and retries. */
export interface PrefetchBuffer<D extends Delivery> {
  readonly size: number;
  get(position: string): D | undefined;
  /** All messages that are not acknowledged. */
  all(): readonly D[];
  /** Adds a message. Ignores one that it already holds. */
  add(delivery: D): void;
  /** Removes a message that another consumer has taken over, unless its handler runs. */
  drop(position: string): void;
  /** Starts no further handler. Returns the messages that wait for their first start or for a retry. */
  halt(): readonly D[];
  /** Resolves after `halt()`, when no handler runs and every handled message is acknowledged. */
  readonly idle: Promise<void>;
}

interface Entry<D> {
  readonly delivery: D;
  /** Messages of one order key are handled one after the other; undefined: without any order. */
  readonly orderKey: string | undefined;
  state: "waiting" | "running" | "pausing" | "done";
  timer?: NodeJS.Timeout;
}

/**
 * Creates a {@link PrefetchBuffer}. A rejected message is retried after a pause; later messages of its topic and key wait
 * for it to keep the order, all others continue.
 */
export function createPrefetchBuffer<D extends Delivery>(options: PrefetchOptions<D>): PrefetchBuffer<D> {
  const { concurrency, handler, pauseMs, acknowledge, rejected, removed } = options;
  // In order of arrival, which is the order in which handlers start.
  const entries = new Map<string, Entry<D>>();
  const busyKeys = new Set<string>();
  const idle = Promise.withResolvers<void>();
  let running = 0;
  let halted = false;

  function startHandlers(): void {
    if (halted || running >= concurrency) return;
    for (const entry of entries.values()) {
      if (entry.state !== "waiting" || (entry.orderKey !== undefined && busyKeys.has(entry.orderKey)))
        continue;
      entry.state = "running";
      if (entry.orderKey !== undefined) busyKeys.add(entry.orderKey);
      running++;
      void run(entry);
      if (running >= concurrency) return;
    }
  }

  async function run(entry: Entry<D>): Promise<void> {
    const { delivery } = entry;
    try {
      await handler(delivery.message, { deliveries: delivery.deliveries });
    } catch (error) {
      running--;
      pause(entry, error);
      startHandlers();
      settle();
      return;
    }
    running--;
    entry.state = "done";
    freeKey(entry);
    startHandlers();
    await acknowledge(delivery);
    remove(entry);
  }

  function pause(entry: Entry<D>, error: unknown): void {
    entry.state = "pausing";
    const ms = pauseMs(entry.delivery.deliveries);
    entry.delivery.deliveries++;
    rejected(entry.delivery, error, ms);
    if (halted) return;
    entry.timer = setTimeout(() => {
      entry.state = "waiting";
      freeKey(entry);
      startHandlers();
    }, ms);
  }

  function freeKey({ orderKey }: Entry<D>): void {
    if (orderKey !== undefined) busyKeys.delete(orderKey);
  }

  function remove(entry: Entry<D>): void {
    entries.delete(entry.delivery.position);
    settle();
    if (!halted) removed();
  }

  function settle(): void {
    if (!halted || running > 0) return;
    for (const { state } of entries.values()) if (state === "done") return;
    idle.resolve();
  }

  return {
    get size() {
      return entries.size;
    },
    get: (position) => entries.get(position)?.delivery,
    all: () => [...entries.values()].map(({ delivery }) => delivery),
    add(delivery) {
      const { position, message } = delivery;
      if (halted || entries.has(position)) return;
      const orderKey = message.key === null ? undefined : `${message.topic} ${message.key}`;
      entries.set(position, { delivery, orderKey, state: "waiting" });
      startHandlers();
    },
    drop(position) {
      const entry = entries.get(position);
      if (entry === undefined || entry.state === "running" || entry.state === "done") return;
      clearTimeout(entry.timer);
      if (entry.state === "pausing") freeKey(entry);
      remove(entry);
      startHandlers();
    },
    halt() {
      halted = true;
      const rest = [...entries.values()].filter(({ state }) => state === "waiting" || state === "pausing");
      for (const { timer, delivery } of rest) {
        clearTimeout(timer);
        entries.delete(delivery.position);
      }
      settle();
      return rest.map(({ delivery }) => delivery);
    },
    idle: idle.promise,
  };
}
