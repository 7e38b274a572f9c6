import type { Logger, ReadinessCheck } from "@svc/context";

/**
 * One message on a bus. Only the text of `body` has to arrive unchanged: `topic`, `id` and `key` let a broker route,
 * deduplicate and order without parsing it. Rules EVT-2, EVT-8.
 */
export interface BusMessage {
  /** The destination: the service's topic prefix and the event type. A stream, a subject or a Kafka topic. */
  readonly topic: string;
  /** The event id. A broker with deduplication drops a second message with the same id; others may deliver both. */
  readonly id: string;
  /** Messages of one topic and key keep their order if the broker supports it; null means unordered. */
  readonly key: string | null;
  /** The envelope as JSON text (UTF-8). An adapter neither parses nor changes it. */
  readonly body: string;
}

/** What a handler receives in addition to the message. */
export interface DeliveryInfo {
  /** How many times the broker delivered this message to the group, including this delivery: 1 or more. */
  readonly deliveries: number;
}

/** What a group consumes, and its handler. */
export interface ConsumeOptions {
  /** The consumer group, one per service: replicas share its messages. */
  readonly group: string;
  /** The full topic names including the prefix, at least one. A topic does not have to exist yet. */
  readonly topics: readonly string[];
  /**
   * Resolves when the message is handled. After a rejection it is delivered again later, here or to another replica.
   */
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /** Handlers that run concurrently. Default: 1, which keeps the order; higher values give it up. */
  readonly concurrency?: number | undefined;
  /** Reports lost and restored connections and unreadable messages. Default: none. */
  readonly logger?: Logger | undefined;
}

/** A running subscription. `await using` stops it. */
export interface Consumption extends AsyncDisposable {
  /** Takes no further message; resolves when the running handlers have ended and their messages are acknowledged. */
  stop(): Promise<void>;
  /** Resolves when the consumption ended through `stop()` or the bus's `close()`. Never rejects. */
  readonly stopped: Promise<void>;
}

/**
 * The interface between events and a broker. Publishers and consumers use only this interface; an adapter implements it
 * for one broker. `eventBusCases` of `@svc/events/testing` tests an adapter.
 */
export interface EventBus {
  /** The name in logs and readiness, for instance `"redis-streams"`. */
  readonly name: string;
  /**
   * Publishes messages. Resolves when the broker has stored all of them. Rejects when any may be missing; the caller
   * then publishes all again, so a message may be stored twice but is never lost. Ends in bounded time, even while the
   * broker hangs or is unavailable. Messages of one key are stored in the order given.
   *
   * An error with `permanent: true` means that these messages can never be published (too large, an invalid topic); the
   * relay does not retry them.
   */
  publish(
    messages: readonly BusMessage[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
  /**
   * Subscribes a group. Each group gets every message published to its topics after the group was created, at least
   * once; within a group one consumer gets it. A message is acknowledged when the handler resolves, and delivered again
   * when the handler rejects or its process dies. Resumes by itself after an outage of the broker. Rejects, in
   * bounded time, when the subscription cannot be created.
   */
  consume(options: ConsumeOptions): Promise<Consumption>;
  /** The check `event-bus`: never critical. Reads state or sends one request, and ends at its signal. */
  readiness(): ReadinessCheck;
  /** Ends every consumption and closes the connections that the bus opened itself. A second call does nothing. */
  close(): Promise<void>;
}
