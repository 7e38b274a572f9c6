import type { Logger, ReadinessCheck } from "@svc/context";

/**
 * A message on a bus. Only `body` must arrive unchanged. With `topic`, `id` and `key` a broker can route, deduplicate
 * and order without parsing the body. Rules EVT-2, EVT-8.
 */
export interface BusMessage {
  /**
   * The destination: the service's topic prefix followed by the event type. It names a stream, a subject or a Kafka
   * topic.
   */
  readonly topic: string;
  /**
   * The event id. A broker with deduplication drops a second message with the same id; other brokers may deliver both.
   */
  readonly id: string;
  /** Messages with the same topic and key keep their order if the broker supports it; null means unordered. */
  readonly key: string | null;
  /** The envelope as a JSON string (UTF-8). An adapter neither parses nor changes it. */
  readonly body: string;
}

/** Information about a delivery, which a handler receives besides the message. */
export interface DeliveryInfo {
  /** Number of deliveries of this message to the group so far, including this one: 1 or more. */
  readonly deliveries: number;
}

/** What a group consumes, and the handler for its messages. */
export interface ConsumeOptions {
  /** The consumer group, one per service: replicas share its messages. */
  readonly group: string;
  /** The full topic names with prefix, at least one. A topic need not exist yet. */
  readonly topics: readonly string[];
  /**
   * Resolves when the message is handled. After a rejection the message is delivered again later, to this or another
   * replica.
   */
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /** Number of concurrent handlers. Default: 1, which keeps the order; higher values do not. */
  readonly concurrency?: number | undefined;
  /** Logger for lost and restored connections and unreadable messages. Default: none. */
  readonly logger?: Logger | undefined;
}

/** A running subscription. `await using` stops it. */
export interface Consumption extends AsyncDisposable {
  /** Stops reading. Resolves when the running handlers have ended and their messages are acknowledged. */
  stop(): Promise<void>;
  /** Resolves when the subscription has ended through `stop()` or the bus's `close()`. Never rejects. */
  readonly stopped: Promise<void>;
}

/**
 * The interface through which publishers and consumers use a broker. An adapter implements it for one broker;
 * `eventBusCases` from `@svc/events/testing` tests an adapter.
 */
export interface EventBus {
  /** The bus's name in logs and readiness, for example `"redis-streams"`. */
  readonly name: string;
  /**
   * Publishes messages. Resolves when the broker has stored all of them. Rejects when any may be missing; the caller
   * then publishes all again, so a message may be stored twice but is never lost. Settles in bounded time, even while
   * the broker hangs or is unavailable. Messages with the same key are stored in the given order.
   *
   * An error with `permanent: true` means that these messages can never be published (for example too large, or an
   * invalid topic); the relay does not retry them.
   */
  publish(
    messages: readonly BusMessage[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
  /**
   * Subscribes a group. Each group receives every message published to its topics after the group was created, at least
   * once. Within a group, one consumer receives it. A message is acknowledged when the handler resolves, and delivered
   * again when the handler rejects or its process dies. Resumes automatically after a broker outage. Rejects, in
   * bounded time, when the subscription cannot be created.
   */
  consume(options: ConsumeOptions): Promise<Consumption>;
  /**
   * Returns the readiness check `event-bus`, which is never critical. It reads local state or sends one request, and
   * stops when its signal aborts.
   */
  readiness(): ReadinessCheck;
  /** Stops every subscription and closes the connections that the bus itself opened. Further calls do nothing. */
  close(): Promise<void>;
}
