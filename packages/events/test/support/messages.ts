import type { BusMessage, EventBus } from "@svc/events";

let count = 0;

/** A topic that nobody else uses. */
export function topicName(what: string): string {
  count++;
  return `case-${count}.${what}`;
}

/** So many messages of a topic, each with an id of its own. */
export function messages(topic: string, many: number, changes: Partial<BusMessage> = {}): BusMessage[] {
  return Array.from({ length: many }, () => {
    count++;
    return { topic, id: `id-${count}`, key: null, body: JSON.stringify({ count }), ...changes };
  });
}

export function idsOf(list: readonly BusMessage[]): string[] {
  return list.map(({ id }) => id);
}

/** Whether a bus has taken these in its time. */
export function isTaken(bus: EventBus, list: readonly BusMessage[]): Promise<boolean> {
  return bus.publish(list).then(
    () => true,
    () => false,
  );
}

/** Consumes a topic, and answers the ids of what comes. */
export async function collector(bus: EventBus, group: string, topic: string): Promise<string[]> {
  const ids: string[] = [];
  await bus.consume({
    group,
    topics: [topic],
    handler: async ({ id }) => Promise.resolve(void ids.push(id)),
  });
  return ids;
}
