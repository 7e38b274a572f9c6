import type { CheckResult, ReadinessCheck } from "@svc/context";
import { withDeadline } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { closedBus, EventBusError } from "../bus/event-bus-error.ts";
import type { RunningConsumption } from "../bus/running.ts";
import { checkConsumption, checkMessages } from "../bus/messages.ts";
import type { BusMessage, EventBus } from "../event-bus.ts";
import { startConsumption } from "./consumption.ts";
import { BROKER, explained, isNoStream, nobodyTook } from "./errors.ts";
import { encoded, headersOf } from "./headers.ts";
import { type JetStream, openLink } from "./link.ts";
import { type NatsJetStreamOptions, resolveNatsJetStreamOptions } from "./options.ts";
import { ensureStream } from "./stream.ts";

// Messages published concurrently; further ones wait.
const UNDER_WAY = 256;
// Bytes for the headers other than id and key.
const HEADER_BYTES = 512;
const KNOWN_TOPICS = 10_000;
const TRIES = 10;

/**
 * Creates an event bus on NATS JetStream (EVT-7), server 2.9 or newer, with one stream. The subject is prefix + topic,
 * the data are the body, `Nats-Msg-Id` holds the id and `Event-Key` the key, percent-encoded where they are not
 * printable ASCII. Each group has a durable pull consumer per topic, named `<group>==<topic>` with `=` for every dot.
 * Connects on first use.
 *
 * The stream drops a message repeated within its duplicate window, so publishing again after a failure is safe.
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws EventBusError (publish, consume) `ERR_SVC_EVENT_BUS_UNAVAILABLE`, `ERR_SVC_EVENT_BUS_REFUSED`,
 *   `ERR_SVC_EVENT_BUS_MESSAGE`, `ERR_SVC_EVENT_BUS_CLOSED`; ConfigurationError (consume)
 */
export function createNatsJetStreamBus(given: NatsJetStreamOptions): EventBus {
  const options = resolveNatsJetStreamOptions(given);
  const { stream, prefix, timeoutMs, maxBodyBytes } = options;
  const link = openLink(options);
  const consumptions = new Set<RunningConsumption>();
  // Topics that the stream is known to accept.
  const known = new Set<string>();
  let closed: Promise<void> | undefined;

  async function prepare(jetStream: JetStream, topics: readonly string[]): Promise<void> {
    const unknown = topics.filter((topic) => !known.has(topic));
    if (unknown.length === 0) return;
    if (await ensureStream(jetStream, options, unknown)) link.forgotten();
    if (known.size > KNOWN_TOPICS) known.clear();
    for (const topic of unknown) known.add(topic);
  }

  async function put({ client }: JetStream, message: BusMessage): Promise<void> {
    const { id, topic, body } = message;
    await client.publish(prefix + topic, body, {
      msgID: encoded(id),
      headers: headersOf(message),
      timeout: timeoutMs,
      // Reject a publish that another stream with the same subject would store.
      expect: { streamName: stream },
    });
  }

  async function putAll(messages: readonly BusMessage[], signal: AbortSignal): Promise<void> {
    const jetStream = await link.now();
    const limit = jetStream.connection.info?.max_payload ?? Infinity;
    for (const message of messages) {
      const bytes =
        Buffer.byteLength(message.body) + encoded(message.id + (message.key ?? "")).length + HEADER_BYTES;
      if (bytes <= limit) continue;
      const text = `message ${JSON.stringify(message.id)} cannot be published: the server takes ${limit} bytes at most`;
      throw new EventBusError("ERR_SVC_EVENT_BUS_MESSAGE", text, message);
    }
    const topics = [...new Set(messages.map(({ topic }) => topic))];
    for (let attempt = 1; ; attempt++) {
      await prepare(jetStream, topics);
      try {
        await putInOrder(jetStream, messages, signal);
        return;
      } catch (error) {
        // The stream was removed, or another replica overwrote its subjects.
        if (!nobodyTook(error) || attempt === TRIES) throw error;
        known.clear();
        await sleep(Math.random() * 10 * attempt, undefined, { signal });
      }
    }
  }

  async function putInOrder(
    jetStream: JetStream,
    messages: readonly BusMessage[],
    signal: AbortSignal,
  ): Promise<void> {
    for (let at = 0; at < messages.length; at += UNDER_WAY) {
      signal.throwIfAborted();
      // Send all in this order before the first answer arrives.
      await Promise.all(messages.slice(at, at + UNDER_WAY).map((message) => put(jetStream, message)));
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    if (closed !== undefined) return { healthy: false, detail: "closed" };
    const meta = {
      stream,
      consumptions: consumptions.size,
      in_hand: [...consumptions].reduce((sum, { inHand }) => sum + inHand, 0),
    };
    try {
      await withDeadline(
        Math.min(timeoutMs, 1500),
        async () => (await link.now()).manager.streams.info(stream),
        { signal },
      );
    } catch (error) {
      if (isNoStream(error) && consumptions.size === 0)
        return { healthy: options.manageStream, detail: `connected; there is no stream ${stream} yet`, meta };
      return { healthy: false, detail: explained(error).message, meta };
    }
    const stuck = [...consumptions].find(({ trouble }) => trouble !== undefined);
    if (stuck === undefined) return { healthy: true, detail: "connected", meta };
    return { healthy: false, detail: `group ${stuck.group}: ${stuck.trouble}`, meta };
  }

  async function end(): Promise<void> {
    await Promise.all([...consumptions].map((each) => each.stop()));
    await link.close();
  }

  const readiness: ReadinessCheck = { name: "event-bus", critical: false, check };
  return {
    name: "nats-jetstream",
    async publish(messages, { signal } = {}) {
      if (isClosed()) throw closedBus(BROKER);
      signal?.throwIfAborted();
      checkMessages(messages, maxBodyBytes);
      if (messages.length === 0) return;
      try {
        await withDeadline(timeoutMs, (until) => putAll(messages, until), { signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw explained(error);
      }
    },
    async consume(asked) {
      checkConsumption(asked);
      if (isClosed()) throw closedBus(BROKER);
      try {
        const consumption = await startConsumption(asked, { options, link });
        consumptions.add(consumption);
        void consumption.stopped.then(() => consumptions.delete(consumption));
        if (isClosed()) await consumption.stop();
        return consumption;
      } catch (error) {
        throw explained(error);
      }
    },
    readiness: () => readiness,
    close: () => (closed ??= end()),
  };

  // A function, because TypeScript would otherwise assume that the signal cannot abort in between.
  function isClosed(): boolean {
    return closed !== undefined;
  }
}
