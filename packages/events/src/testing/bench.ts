import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { BusMessage, Consumption, EventBus } from "../event-bus.ts";

/** The buses for one case, all on the same broker. */
export interface EventBusBench {
  readonly bus: EventBus;
  /** Opens another bus on the same broker with its own connections, like a second replica. The suite closes it. */
  readonly another: () => Promise<EventBus>;
  /**
   * Disconnects a bus abruptly from the broker, as if its process had been killed. If omitted, the case about dead
   * consumers passes without a check.
   */
  readonly breakConnection?: ((bus: EventBus) => void | Promise<void>) | undefined;
  /**
   * Restarts the broker, which may lose its data. If omitted, the case about a broker outage passes without a check.
   */
  readonly restartBroker?: (() => Promise<void>) | undefined;
  /** Called at the end of every case, after the buses are closed. */
  readonly close: () => Promise<void>;
}

/** Helpers for one case. Everything that they start is stopped when the case ends. */
export interface Scene {
  readonly bench: EventBusBench;
  readonly bus: EventBus;
  readonly another: () => Promise<EventBus>;
  /** The topic for cases that need only one. */
  readonly topic: string;
  /** Returns a unique name. */
  readonly name: (what: string) => string;
  /** Returns a message for the topic with a unique id. */
  readonly message: (changes?: Partial<BusMessage>) => BusMessage;
  /** Returns `many` messages, each with a unique id. */
  readonly messages: (many: number, changes?: Partial<BusMessage>) => readonly BusMessage[];
  readonly until: Until;
  /** Starts a subscription that records its deliveries. */
  readonly gather: (options?: GatherOptions) => Promise<Gathered>;
}

/** A case that is not yet bound to a bus. */
export interface Draft {
  readonly name: string;
  /** The property of `EventBusSuite` that must be true; otherwise the case is skipped. */
  readonly needs?: "ordered" | "deduplicates" | "keepsEarlier";
  readonly play: (scene: Scene) => Promise<void>;
}

export interface GatherOptions {
  /** Default: the bench's bus. */
  readonly bus?: EventBus;
  /** Default: a new group. */
  readonly group?: string;
  /** Default: the case's topic. */
  readonly topics?: readonly string[];
  readonly concurrency?: number;
  /** Called with each delivery after it is recorded. */
  readonly doing?: (message: BusMessage, deliveries: number) => unknown;
}

export interface Gathered {
  readonly consumption: Consumption;
  /** Every delivery, in order of arrival. */
  readonly deliveries: readonly { readonly message: BusMessage; readonly deliveries: number }[];
  /** Returns the ids of all deliveries in order of arrival. */
  ids(): readonly string[];
  /** Waits until each of these messages has been delivered at least once. */
  has(messages: readonly BusMessage[]): Promise<void>;
}

/** Waits until a condition holds. The time limit is so long that only a broken bus exceeds it. */
export type Until = (what: string, holds: () => boolean | Promise<boolean>) => Promise<void>;

// Maximum number of sequential waits in a case.
const LONGEST_CASE = 4;
let count = 0;

export function idsOf(messages: readonly BusMessage[]): string[] {
  return messages.map(({ id }) => id);
}

/** Rejects when the work takes longer than `ms`, so that a hanging bus makes the case fail. */
async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`timed out after ${ms / 1000} s: ${what}`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a case on its own bench and stops everything that the case started. */
export async function onBench(
  open: () => Promise<EventBusBench>,
  patienceMs: number,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  const bench = await open();
  const buses = new Set([bench.bus]);
  const word = randomBytes(6).toString("hex");
  const name = (what: string): string => `suite.${word}.${what}`;
  const topic = name("topic");

  const until: Until = async (what, holds) => {
    const end = performance.now() + patienceMs;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`timed out after ${patienceMs / 1000} s: ${what}`);
      await sleep(5);
    }
  };

  function message(changes: Partial<BusMessage> = {}): BusMessage {
    const id = `${word}-${++count}`;
    return { topic, id, key: null, body: JSON.stringify({ id, count }), ...changes };
  }

  async function gather(options: GatherOptions = {}): Promise<Gathered> {
    const {
      bus = bench.bus,
      group = name(`group-${++count}`),
      topics = [topic],
      concurrency,
      doing,
    } = options;
    const deliveries: { readonly message: BusMessage; readonly deliveries: number }[] = [];
    const consumption = await bus.consume({
      group,
      topics,
      concurrency,
      async handler(message, info) {
        deliveries.push({ message, deliveries: info.deliveries });
        await doing?.(message, info.deliveries);
      },
    });
    const ids = (): string[] => idsOf(deliveries.map(({ message }) => message));
    return {
      consumption,
      deliveries,
      ids,
      has(messages) {
        return until(`${messages.length} messages were delivered`, () => {
          const seen = new Set(ids());
          return messages.every(({ id }) => seen.has(id));
        });
      },
    };
  }

  async function another(): Promise<EventBus> {
    const bus = await bench.another();
    buses.add(bus);
    return bus;
  }

  const messages = (many: number, changes?: Partial<BusMessage>): readonly BusMessage[] =>
    Array.from({ length: many }, () => message(changes));
  const scene = { bench, bus: bench.bus, another, topic, name, message, messages, until, gather };
  try {
    await within(LONGEST_CASE * patienceMs, "every call of the bus has ended", play(scene));
  } finally {
    await within(patienceMs, "the buses are closed", Promise.all([...buses].map((bus) => bus.close())));
    await bench.close();
  }
}
