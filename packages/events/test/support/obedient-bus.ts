import type { BusMessage, EventBus } from "@svc/events";

/** A bus of one process, which does what a test tells it. */
export interface ObedientBus extends EventBus {
  /** What was taken, in its order. */
  readonly taken: BusMessage[];
  /** How often something was handed over. */
  calls: number;
  /** Whether it says that it is there. */
  healthy: boolean;
  /** Throws for what is not to be taken. */
  refuse: (messages: readonly BusMessage[]) => void;
  /** Hands what was taken to all who consume. */
  deliver(message: BusMessage): Promise<void>;
}

/** An error that says that a message can never be taken. */
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
