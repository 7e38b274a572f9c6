import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { BusMessage, Consumption, EventBus } from "../event-bus.ts";

/** The buses of one case, on one broker. */
export interface EventBusBench {
  readonly bus: EventBus;
  /** Opens another bus on the same broker with its own connections, as a second replica. The suite closes it. */
  readonly another: () => Promise<EventBus>;
  /**
   * Disconnects a bus from the broker without any goodbye, as if its process had been killed. Without it the case of
   * dead consumers tests nothing.
   */
  readonly breakConnection?: ((bus: EventBus) => void | Promise<void>) | undefined;
  /** Restarts the broker, which may lose its data. Without it the restart case tests nothing. */
  readonly restartBroker?: (() => Promise<void>) | undefined;
  /** Called at the end of every case, after the buses are closed. */
  readonly close: () => Promise<void>;
}

/** Helpers of one case; it ends what they start. */
export interface Scene {
  readonly bench: EventBusBench;
  readonly bus: EventBus;
  readonly another: () => Promise<EventBus>;
  /** Returns a unique name. */
  readonly name: (what: string) => string;
  readonly until: Until;
  /** Starts a consumption that records its deliveries. */
  readonly gather: (options: GatherOptions) => Promise<Gathered>;
}

/** A case that is not bound to a bus yet. */
export interface Draft {
  readonly name: string;
  /** The property of `EventBusSuite` that must be true for the case to run. */
  readonly needs?: "ordered" | "deduplicates" | "keepsEarlier";
  readonly play: (scene: Scene) => Promise<void>;
}

export interface GatherOptions {
  readonly bus?: EventBus | undefined;
  readonly group: string;
  readonly topics: readonly string[];
  readonly concurrency?: number | undefined;
  /** Called with each delivery after it is recorded. */
  readonly doing?: ((message: BusMessage, deliveries: number) => unknown) | undefined;
}

export interface Gathered {
  readonly consumption: Consumption;
  /** Every delivery in order of arrival. */
  readonly deliveries: readonly { readonly message: BusMessage; readonly deliveries: number }[];
  /** Returns the ids of all deliveries in order of arrival. */
  ids(): readonly string[];
  /** Waits until each of these messages was delivered at least once. */
  has(messages: readonly BusMessage[]): Promise<void>;
}

/** Waits until a condition holds, long enough that only a bus that never reaches it fails. */
export type Until = (what: string, holds: () => boolean | Promise<boolean>) => Promise<void>;

function untilWithin(ms: number): Until {
  return async (what, holds) => {
    const end = performance.now() + ms;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`not within ${ms / 1000} s: ${what}`);
      await sleep(5);
    }
  };
}

// The most waits that a case makes in sequence.
const LONGEST_CASE = 4;

/** Rejects when the work does not finish in time, so that a hanging bus fails the case. */
async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${ms / 1000} s: ${what}`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

let count = 0;

/** Returns a message with a unique id. */
export function messageFor(topic: string, changes: Partial<BusMessage> = {}): BusMessage {
  count++;
  const id = `${randomBytes(12).toString("hex")}-${count}`;
  return { topic, id, key: null, body: JSON.stringify({ id, count }), ...changes };
}

export function messagesFor(topic: string, many: number): readonly BusMessage[] {
  return Array.from({ length: many }, () => messageFor(topic));
}

/** Runs a case on its own bench and ends everything that it started. */
export async function onBench(
  open: () => Promise<EventBusBench>,
  patienceMs: number,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  const bench = await open();
  const until = untilWithin(patienceMs);
  const buses = new Set([bench.bus]);
  const word = randomBytes(6).toString("hex");
  const scene: Scene = {
    bench,
    bus: bench.bus,
    until,
    name: (what) => `suite.${word}.${what}`,
    async another() {
      const bus = await bench.another();
      buses.add(bus);
      return bus;
    },
    async gather({ bus = bench.bus, group, topics, concurrency, doing }) {
      const deliveries: { readonly message: BusMessage; readonly deliveries: number }[] = [];
      const ids = (): string[] => deliveries.map(({ message }) => message.id);
      const consumption = await bus.consume({
        group,
        topics,
        concurrency,
        async handler(message, info) {
          deliveries.push({ message, deliveries: info.deliveries });
          await doing?.(message, info.deliveries);
        },
      });
      return {
        consumption,
        deliveries,
        ids,
        has(messages) {
          return until(`${messages.length} messages have come`, () => {
            const seen = new Set(ids());
            return messages.every(({ id }) => seen.has(id));
          });
        },
      };
    },
  };
  try {
    await within(LONGEST_CASE * patienceMs, "every call of the bus has ended", play(scene));
  } finally {
    await within(patienceMs, "the buses are closed", Promise.all([...buses].map((bus) => bus.close())));
    await bench.close();
  }
}
