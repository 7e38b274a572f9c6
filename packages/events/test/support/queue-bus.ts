import type { BusMessage, EventBus } from "@svc/events";
import { type Broker, createBrokerBus, type Delivery } from "@svc/events/broker";
import { setTimeout as sleep } from "node:timers/promises";

/** A message in the queue of one group, as a queue service such as SQS keeps it. */
interface Queued {
  readonly message: BusMessage;
  receives: number;
  visibleAt: number;
}

/**
 * Creates an in-memory queue service that hides a received message for `visibilityMs`; each of its buses is a replica.
 */
export function queueService(visibilityMs: number): { bus(): EventBus; kill(bus: EventBus): void } {
  const log: BusMessage[] = [];
  const queues = new Map<string, Queued[]>();
  const dead = new Set<EventBus>();

  function queueOf(group: string, topic: string): Queued[] {
    const name = `${group} ${topic}`;
    const earlier = log.filter((message) => message.topic === topic);
    const queue = queues.get(name) ?? earlier.map((message) => ({ message, receives: 0, visibleAt: 0 }));
    queues.set(name, queue);
    return queue;
  }

  function bus(): EventBus {
    const connected = (): void => {
      if (dead.has(made)) throw new Error("the connection is broken");
    };
    const broker: Broker<Delivery & { readonly queued: Queued }> = {
      name: "queues",
      title: "Queues",
      async publish(messages) {
        connected();
        for (const message of messages) {
          if (log.some(({ id, topic }) => id === message.id && topic === message.topic)) continue;
          log.push(message);
          for (const [name, queue] of queues) {
            if (name.endsWith(` ${message.topic}`)) queue.push({ message, receives: 0, visibleAt: 0 });
          }
        }
        return Promise.resolve();
      },
      ping: async () => Promise.resolve(connected() as undefined),
      subscribe(subscriber) {
        const mine = subscriber.topics.map((topic) => [topic, queueOf(subscriber.group, topic)] as const);
        const release = (list: readonly { readonly queued: Queued }[], receives: number): void => {
          for (const { queued } of dead.has(made) ? [] : list) {
            queued.receives -= receives;
            queued.visibleAt = 0;
          }
        };
        return {
          open: async () => Promise.resolve(connected()),
          readers: [
            {
              async fetch(count) {
                connected();
                const now = performance.now();
                const visible = mine.flatMap(([, queue]) =>
                  queue.filter(({ visibleAt }) => visibleAt <= now),
                );
                for (const queued of visible.slice(0, count)) {
                  queued.visibleAt = now + visibilityMs;
                  queued.receives++;
                  const { message, receives: deliveries } = queued;
                  const position = `${message.topic} ${message.id}`;
                  subscriber.deliver({ position, message, deliveries, queued });
                }
                if (visible.length === 0) await sleep(2);
              },
            },
          ],
          acknowledge({ queued }) {
            const queue = queueOf(subscriber.group, queued.message.topic);
            if (!dead.has(made)) queue.splice(queue.indexOf(queued), 1);
          },
          keepAliveMs: visibilityMs / 3,
          keepAlive() {
            connected();
            for (const { queued } of subscriber.all()) queued.visibleAt = performance.now() + visibilityMs;
          },
          stop: (unstarted) => release(unstarted, 1),
          close: (abandoned) => release(abandoned, 0),
        };
      },
      close: () => undefined,
    };
    const made = createBrokerBus({ broker, retryBaseMs: 10 });
    return made;
  }

  return { bus, kill: (bus) => void dead.add(bus) };
}
