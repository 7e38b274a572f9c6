import type { BusMessage, EventBus } from "@svc/events";

let count = 0;

/** Returns a unique topic. */
export function topicName(what: string): string {
  count++;
  return `case-${count}.${what}`;
}

/** Returns `many` messages of a topic, each with a unique id. */
export function messages(topic: string, many: number, changes: Partial<BusMessage> = {}): BusMessage[] {
  return Array.from({ length: many }, () => {
    count++;
    return { topic, id: `id-${count}`, key: null, body: JSON.stringify({ count }), ...changes };
  });
}

export function idsOf(list: readonly BusMessage[]): string[] {
  return list.map(({ id }) => id);
}

/** Returns whether a bus accepts the messages within its timeout. */
export function isTaken(bus: EventBus, list: readonly BusMessage[]): Promise<boolean> {
  return bus.publish(list).then(
    () => true,
    () => false,
  );
}

/** Consumes a topic and returns the list that collects the ids of its messages. */
export async function collector(bus: EventBus, group: string, topic: string): Promise<string[]> {
  const ids: string[] = [];
  await bus.consume({
    group,
    topics: [topic],
    handler: async ({ id }) => Promise.resolve(void ids.push(id)),
  });
  return ids;
}
