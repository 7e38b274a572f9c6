import { setTimeout as sleep } from "node:timers/promises";
import { busOf } from "../bus/broker-bus.ts";
import { EventBusError } from "../bus/event-bus-error.ts";
import type { BusMessage, EventBus } from "../event-bus.ts";
import { type JetStream, openConnection } from "./connection.ts";
import { BROKER, explained, hasNoStream, isNoStream } from "./errors.ts";
import { encoded, headersOf } from "./headers.ts";
import { type NatsJetStreamOptions, natsJetStreamOptions } from "./options.ts";
import { ensureStream, pauseAfter, removeSubjects } from "./stream.ts";
import { createSubscription, type NatsDelivery } from "./subscription.ts";

// Maximum number of concurrently published messages; further messages wait.
const UNDER_WAY = 256;
// Bytes reserved for headers other than id and key.
const HEADER_BYTES = 512;
const KNOWN_TOPICS = 10_000;
// After this many consecutive refusals, remove the subjects and add them again: the server may list subjects that it does
// not serve.
const REFUSALS_BEFORE_RENEWAL = 3;

/**
 * Creates an event bus on NATS JetStream (EVT-7), server 2.9 or newer, with one stream. The subject is prefix + topic,
 * the data is the body, `Nats-Msg-Id` holds the id and `Event-Key` the key, both percent-encoded except for visible
 * ASCII characters. Each group has a durable pull consumer per topic, named `<group>==<topic>` with `=` instead of dots.
 * Connects on first use.
 *
 * The stream drops a message repeated within its duplicate window, so publishing again after a failure is safe.
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws EventBusError (publish, consume) `ERR_SVC_EVENT_BUS_UNAVAILABLE`, `ERR_SVC_EVENT_BUS_REFUSED`,
 *   `ERR_SVC_EVENT_BUS_MESSAGE`, `ERR_SVC_EVENT_BUS_CLOSED`; ConfigurationError (consume)
 */
export function createNatsJetStreamBus(given: NatsJetStreamOptions): EventBus {
  const options = natsJetStreamOptions.resolve(given);
  const { stream, prefix, timeoutMs, manageStream } = options;
  const connection = openConnection(options);
  // Topics that the stream is known to accept.
  const known = new Set<string>();

  async function prepare(
    jetStream: JetStream,
    topics: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const unknown = topics.filter((topic) => !known.has(topic));
    if (unknown.length === 0) return;
    if (await ensureStream(jetStream, options, unknown, signal)) connection.reset();
    if (known.size > KNOWN_TOPICS) known.clear();
    for (const topic of unknown) known.add(topic);
  }

  async function send({ client }: JetStream, message: BusMessage): Promise<void> {
    const { id, topic, body } = message;
    await client.publish(prefix + topic, body, {
      msgID: encoded(id),
      headers: headersOf(message),
      timeout: timeoutMs,
      // Reject the message if another stream with the same subject would store it.
      expect: { streamName: stream },
    });
  }

  async function sendInOrder(
    jetStream: JetStream,
    messages: readonly BusMessage[],
    signal: AbortSignal,
  ): Promise<void> {
    for (let at = 0; at < messages.length; at += UNDER_WAY) {
      signal.throwIfAborted();
      // Send the messages in order, without waiting for a response before the next one.
      await Promise.all(messages.slice(at, at + UNDER_WAY).map((message) => send(jetStream, message)));
    }
  }

  return busOf<NatsDelivery>(
    {
      name: "nats-jetstream",
      title: BROKER,
      meta: { stream },
      async publish(messages, signal) {
        const jetStream = await connection.now();
        checkSizes(messages, jetStream.connection.info?.max_payload ?? Infinity);
        const topics = [...new Set(messages.map(({ topic }) => topic))];
        for (let attempt = 1; ; attempt++) {
          await prepare(jetStream, topics, signal);
          try {
            await sendInOrder(jetStream, messages, signal);
            return;
          } catch (error) {
            // The stream was removed, or another replica overwrote its subject list.
            if (!hasNoStream(error)) throw error;
            known.clear();
            if (attempt % REFUSALS_BEFORE_RENEWAL === 0) await removeSubjects(jetStream, options, topics);
            await sleep(pauseAfter(attempt), undefined, { signal });
          }
        }
      },
      async ping(isConsuming) {
        try {
          await (await connection.now()).manager.streams.info(stream);
          return undefined;
        } catch (error) {
          if (!isNoStream(error) || isConsuming) throw error;
          return { healthy: manageStream, detail: `connected; there is no stream ${stream} yet` };
        }
      },
      subscribe: (subscriber) => createSubscription(subscriber, { options, connection }),
      explain: explained,
      close: () => connection.close(),
    },
    options,
  );
}

/** @throws EventBusError `ERR_SVC_EVENT_BUS_MESSAGE` for a message that the server would reject */
function checkSizes(messages: readonly BusMessage[], limit: number): void {
  for (const message of messages) {
    const headers = encoded(message.id + (message.key ?? "")).length + HEADER_BYTES;
    if (Buffer.byteLength(message.body) + headers <= limit) continue;
    const text = `message ${JSON.stringify(message.id)} cannot be published: the server accepts at most ${limit} bytes`;
    throw new EventBusError("ERR_SVC_EVENT_BUS_MESSAGE", text, message);
  }
}
