import type { BusMessage, EventBus } from "@svc/events";

/** An in-process bus that a test controls. */
export interface ObedientBus extends EventBus {
  /** The accepted messages in order. */
  readonly taken: BusMessage[];
  /** The number of publish calls. */
  calls: number;
  /** Whether the readiness check reports the bus as healthy. */
  healthy: boolean;
  /** Throws for messages that the bus should reject. */
  refuse: (messages: readonly BusMessage[]) => void;
  /** Delivers a message to all consumers. */
  deliver(message: BusMessage): Promise<void>;
}

/** Returns an error that marks a message as permanently undeliverable. */
export function permanent(message: string): Error {
  return Object.assign(new Error(message), { permanent: true });
}

export function obedientBus(): ObedientBus {
  const handlers = new Set<(message: BusMessage) => Promise<void>>();
  const bus: ObedientBus = {
    name: "memory",
    taken: [],
    calls: 0,
    healthy: true,
    refuse: () => undefined,
    async publish(messages) {
      bus.calls += 1;
      bus.refuse(messages);
      bus.taken.push(...messages);
      await Promise.resolve();
    },
    async consume({ handler }) {
      const own = (message: BusMessage): Promise<void> => handler(message, { deliveries: 1 });
      handlers.add(own);
      const { promise: stopped, resolve } = Promise.withResolvers<void>();
      const stop = async (): Promise<void> => {
        handlers.delete(own);
        resolve();
        await stopped;
      };
      await Promise.resolve();
      return { stop, stopped, [Symbol.asyncDispose]: stop };
    },
    deliver: async (message) => {
      for (const handler of handlers) await handler(message);
    },
    readiness: () => ({
      name: "event-bus",
      critical: false,
      check: () => ({ healthy: bus.healthy, detail: bus.healthy ? "connected" : "away" }),
    }),
    close: async () => {
      handlers.clear();
      await Promise.resolve();
    },
  };
  return bus;
}
