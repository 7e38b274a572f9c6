import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import { withDeadline } from "@svc/resilience";
import type { Delivery, Reader, Subscriber, Subscription } from "../bus/broker.ts";
import type { Connection } from "./connection.ts";
import { type BoundConsumer, durableName, ensureConsumer } from "./consumer.ts";
import { messageOf } from "./headers.ts";
import type { ResolvedNatsJetStream } from "./options.ts";
import { ensureStream } from "./stream.ts";

/** A message fetched from the stream. */
export interface NatsDelivery extends Delivery {
  /** The latest delivery; earlier deliveries can no longer be acknowledged. */
  from: JsMsg;
}

// Duration of one fetch request, during which the server sends heartbeats.
const FETCH_MS = 15_000;
const HEARTBEAT_MS = 2_000;
// An acknowledgement can be lost with its connection, so the subscription remembers this number of handled messages and does
// not handle them again.
const REMEMBERED = 1000;

/** Creates a subscription that reads one durable consumer per topic. */
export function createSubscription(
  subscriber: Subscriber<NatsDelivery>,
  { options, connection }: { readonly options: ResolvedNatsJetStream; readonly connection: Connection },
): Subscription<NatsDelivery> {
  const { group, topics, prefetch, stopping } = subscriber;
  const { timeoutMs, stream } = options;
  // Give each topic room for several messages, so that not every message costs a request.
  const share = Math.max(Math.min(8, prefetch), Math.floor(prefetch / topics.length));
  const requests = new Set<ConsumerMessages>();
  const handled = new Set<string>();
  const createdAt = new Map<string, string>();
  const bound = new Map<string, BoundConsumer>();
  let resets = 0;
  let keepAliveMs = options.ackWaitMs / 3;

  // After a reset the server may have lost requests and consumers, so bind the consumers and fetch again.
  const unsubscribe = connection.onReset(() => {
    resets++;
    bound.clear();
    for (const request of requests) request.stop();
  });

  async function bind(topic: string, signal: AbortSignal): Promise<BoundConsumer> {
    const before = resets;
    const jetStream = await connection.now();
    await ensureStream(jetStream, options, [topic], signal);
    const consumer = await ensureConsumer(jetStream, options, group, topic, createdAt.get(topic));
    if (!createdAt.has(topic)) createdAt.set(topic, consumer.createdAt);
    keepAliveMs = Math.min(keepAliveMs, consumer.ackWaitMs / 3);
    if (before === resets) bound.set(topic, consumer);
    return consumer;
  }

  function deliver(topic: string, from: JsMsg): void {
    if (stopping.aborted) return ignoreClosed(() => from.nak());
    // A re-created stream restarts its sequence at 1. The timestamp distinguishes its messages from the old ones.
    const position = `${topic} ${from.seq} ${from.info.timestampNanos}`;
    const held = subscriber.find(position);
    if (held !== undefined) {
      held.from = from;
      return;
    }
    if (handled.has(position)) return ignoreClosed(() => from.ack());
    const message = messageOf(topic, from);
    if (message === undefined) {
      subscriber.skipped({ topic, sequence: from.seq });
      return ignoreClosed(() => from.ack());
    }
    subscriber.deliver({ position, message, deliveries: from.info.deliveryCount, from });
  }

  function readerOf(topic: string): Reader {
    return {
      // Wait until half the share is free; otherwise every message would cost a round trip.
      room() {
        const held = subscriber.all().reduce((sum, { message }) => sum + Number(message.topic === topic), 0);
        return share - held < share / 2 ? 0 : share - held;
      },
      async fetch(count) {
        await connection.reached(stopping);
        if (stopping.aborted) return;
        try {
          const consumer =
            bound.get(topic) ?? (await withDeadline(timeoutMs, (signal) => bind(topic, signal)));
          subscriber.recovered();
          await receive(topic, consumer, count);
        } catch (error) {
          bound.delete(topic);
          throw error;
        }
      },
    };
  }

  async function receive(topic: string, { consumer }: BoundConsumer, count: number): Promise<void> {
    const request = await consumer.fetch({
      max_messages: count,
      expires: FETCH_MS,
      idle_heartbeat: HEARTBEAT_MS,
    });
    requests.add(request);
    if (stopping.aborted) request.stop();
    try {
      for await (const message of request) deliver(topic, message);
    } finally {
      requests.delete(request);
    }
  }

  /**
   * Returns messages to the server. While a fetch request from an ended subscription is open, the server may lose track
   * of the first returned message until its ack wait ends. Query the consumer first, which makes the server drop such
   * requests.
   */
  async function giveBack(list: readonly NatsDelivery[]): Promise<void> {
    if (list.length === 0) return;
    const concerned = [...new Set(list.map(({ message: { topic } }) => topic))];
    await tryBriefly(async () => {
      const { manager } = await connection.now();
      await Promise.all(concerned.map((topic) => manager.consumers.info(stream, durableName(group, topic))));
    });
    for (const { from } of list) ignoreClosed(() => from.nak());
  }

  /** Runs a cleanup step for at most one second and ignores its failure. */
  async function tryBriefly(run: () => Promise<unknown>): Promise<void> {
    await withDeadline(Math.min(timeoutMs, 1000), run).catch(() => undefined);
  }

  return {
    readers: topics.map(readerOf),
    async open() {
      await ensureStream(await connection.now(), options, topics, stopping);
      await Promise.all(topics.map((topic) => bind(topic, stopping)));
    },
    acknowledge({ position, from }) {
      handled.add(position);
      const [oldest] = handled;
      if (handled.size > REMEMBERED && oldest !== undefined) handled.delete(oldest);
      ignoreClosed(() => from.ack());
    },
    get keepAliveMs() {
      return keepAliveMs;
    },
    keepAlive() {
      for (const { from } of subscriber.all()) ignoreClosed(() => from.working());
    },
    async stop(unstarted) {
      unsubscribe();
      for (const request of requests) request.stop();
      await giveBack(unstarted);
    },
    async close(abandoned) {
      await giveBack(abandoned);
      // Flush, because an acknowledgement takes effect only once the server has read it.
      await tryBriefly(async () => (await connection.now()).connection.flush());
    },
  };
}

/** Ignores a closed connection, because the server redelivers after its timeout. */
function ignoreClosed(send: () => void): void {
  try {
    send();
  } catch {
    // The server delivers the message again.
  }
}
