import type { BusMessage, Consumption, EventBus } from "@svc/events";
import { setTimeout as sleep } from "node:timers/promises";

/** The faults that an in-memory bus can have. */
export type Fault =
  | "loses rejected messages"
  | "delivers every message to every consumer"
  | "splits messages among groups"
  | "ignores the order"
  | "overtakes rejected messages"
  | "loses the messages of a dead consumer"
  | "skips earlier messages"
  | "stores an id twice"
  | "stops without waiting for handlers"
  | "continues after a stop"
  | "truncates long bodies"
  | "writes bodies as latin1"
  | "accepts messages after close"
  | "counts every delivery as the first"
  | "delivers topics that a group did not subscribe to"
  | "runs one handler too many"
  | "is critical"
  | "ignores the abort signal"
  | "never resolves stopped"
  | "never resolves close";

interface Item {
  readonly message: BusMessage;
  deliveries: number;
}

interface Group {
  readonly items: Item[];
  readonly busy: Set<string>;
}

/** Creates an in-memory broker that is correct except for one fault; each of its buses is a replica. */
export function memoryBroker(fault?: Fault): { bus(): EventBus; kill(bus: EventBus): void } {
  const log: BusMessage[] = [];
  const groups = new Map<string, Group>();
  const alive = new Map<EventBus, { dead: boolean }>();
  let consumers = 0;
  const wrong = (one: Fault): boolean => fault === one;

  function groupOf(name: string, topic: string): Group {
    const key = `${wrong("splits messages among groups") ? "all" : name} ${topic}`;
    let group = groups.get(key);
    if (group === undefined) {
      const items = wrong("skips earlier messages") ? [] : log.filter((each) => each.topic === topic);
      group = { items: items.map((message) => ({ message, deliveries: 0 })), busy: new Set() };
      groups.set(key, group);
    }
    return group;
  }

  function take(group: Group): Item | undefined {
    const free = ({ message: { key } }: Item): boolean => key === null || !group.busy.has(key);
    const at = wrong("ignores the order") ? group.items.length - 1 : group.items.findIndex(free);
    const item = at < 0 ? undefined : group.items.splice(at, 1)[0];
    if (item !== undefined && item.message.key !== null) group.busy.add(item.message.key);
    if (item !== undefined) item.deliveries++;
    return item;
  }

  function carried(message: BusMessage): BusMessage {
    let { body } = message;
    if (wrong("truncates long bodies")) body = body.slice(0, 65_536);
    if (wrong("writes bodies as latin1")) body = Buffer.from(body, "latin1").toString("latin1");
    return { ...message, body };
  }

  function bus(): EventBus {
    const life = { dead: false };
    const running = new Set<Consumption>();
    let closed = false;
    const made: EventBus = {
      name: "memory",
      async publish(messages, options) {
        if (!wrong("ignores the abort signal")) options?.signal?.throwIfAborted();
        if (closed && !wrong("accepts messages after close")) throw new Error("closed");
        for (const message of messages) {
          const known = log.some(({ id, topic }) => id === message.id && topic === message.topic);
          if (known && !wrong("stores an id twice")) continue;
          log.push(message);
          for (const [key, group] of groups)
            if (key.endsWith(` ${message.topic}`)) group.items.push({ message, deliveries: 0 });
        }
        return Promise.resolve();
      },
      async consume({ group: asked, topics, handler, concurrency = 1 }) {
        if (closed) throw new Error("closed");
        const name = wrong("delivers every message to every consumer") ? `${asked}-${++consumers}` : asked;
        const more = topics.map((topic) => `${topic}.not`);
        const all = wrong("delivers topics that a group did not subscribe to")
          ? [...topics, ...more]
          : topics;
        const mine = [...new Set(all)].map((topic) => groupOf(name, topic));
        let stopping = false;
        const lanes = Array.from(
          { length: concurrency + Number(wrong("runs one handler too many")) },
          async () => {
            while (!life.dead && !(stopping && !wrong("continues after a stop"))) {
              const group = mine.find(({ items }) => items.length > 0);
              const item = group === undefined ? undefined : take(group);
              if (group === undefined || item === undefined) {
                if (stopping) return;
                await sleep(1);
              } else await handle(group, item);
            }
          },
        );

        async function handle(group: Group, item: Item): Promise<void> {
          const { key } = item.message;
          const free = (): void => void (key !== null && group.busy.delete(key));
          const died = Promise.withResolvers<"dead">();
          const watch = setInterval(() => life.dead && died.resolve("dead"), 1);
          const deliveries = wrong("counts every delivery as the first") ? 1 : item.deliveries;
          const ended = handler(carried(item.message), { deliveries }).then(
            () => "done",
            () => "rejected",
          );
          const outcome = await Promise.race([ended, died.promise]);
          clearInterval(watch);
          if (outcome === "dead" && !wrong("loses the messages of a dead consumer"))
            group.items.unshift(item);
          if (outcome === "rejected") {
            await sleep(1);
            if (wrong("overtakes rejected messages")) {
              free();
              await sleep(20);
              group.items.push(item);
            } else if (!wrong("loses rejected messages")) group.items.unshift(item);
          }
          free();
        }

        const stopped = Promise.all(lanes).then(() => undefined);
        const stop = async (): Promise<void> => {
          stopping = true;
          if (!wrong("stops without waiting for handlers")) await stopped;
        };
        const never = Promise.withResolvers<undefined>().promise;
        const ended = wrong("never resolves stopped") ? never : stopped;
        const consumption = { stop, stopped: ended, [Symbol.asyncDispose]: stop };
        running.add(consumption);
        return Promise.resolve(consumption);
      },
      readiness: () => ({
        name: "event-bus",
        critical: wrong("is critical"),
        check: () => ({ healthy: !closed, detail: closed ? "closed" : "connected" }),
      }),
      async close() {
        closed = true;
        await Promise.all([...running].map((each) => each.stop()));
        life.dead = true;
        if (wrong("never resolves close")) await Promise.withResolvers<undefined>().promise;
      },
    };
    alive.set(made, life);
    return made;
  }

  return {
    bus,
    kill(victim) {
      const life = alive.get(victim);
      if (life !== undefined) life.dead = true;
    },
  };
}
