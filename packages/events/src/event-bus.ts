import type { Logger, ReadinessCheck } from "@svc/context";

/**
 * One event on its way over a bus. The wire is the text of `body` and nothing else has to survive: `topic`, `id` and
 * `key` are there so that a broker can route, deduplicate and order without reading it. Rules EVT-2, EVT-8.
 */
export interface BusMessage {
  /** Where it goes: the prefix of the service and the type of the event. A stream, a subject, a Kafka topic. */
  readonly topic: string;
  /** The id of the event. A broker that can drops a second message with it; one that cannot may deliver both. */
  readonly id: string;
  /** Messages of one topic and key are delivered in the order published where the broker can; null asks for none. */
  readonly key: string | null;
  /** The envelope as JSON text (UTF-8), as it was published: an adapter neither parses nor changes it. */
  readonly body: string;
}

/** What a handler is told beside the message. */
export interface DeliveryInfo {
  /** How often the broker has delivered this message to the group, this time included: 1 or more. */
  readonly deliveries: number;
}

/** What a group reads, and who is called. */
export interface ConsumeOptions {
  /** The consumer group, one for a service: its replicas share the messages of it. */
  readonly group: string;
  /** The topics in full, prefix included. At least one; none has to exist at the broker yet. */
  readonly topics: readonly string[];
  /** Resolves when the message is done with. A rejection has it delivered again, later, here or at another replica. */
  readonly handler: (message: BusMessage, info: DeliveryInfo) => Promise<void>;
  /**
   * Handlers at a time. Default: 1, which keeps the order; more gives the order up.
   */
  readonly concurrency?: number | undefined;
  /** Told of a broker that went away or came back, and of messages that cannot be read. Default: nobody. */
  readonly logger?: Logger | undefined;
}

/** A subscription under way. `await using` stops it. */
export interface Consumption extends AsyncDisposable {
  /** Takes no further message and resolves when the handlers that run have ended and were acknowledged. */
  stop(): Promise<void>;
  /** Resolves when the consumption has ended, by `stop()` or by `close()` of the bus. Never rejects. */
  readonly stopped: Promise<void>;
}

/**
 * A broker, as far as events need it. Everything that publishes or receives events speaks to this interface; what is
 * behind it is an adapter of some hundred lines. `eventBusCases` of `@svc/events/testing` says whether one is right.
 */
export interface EventBus {
  /** Names it in logs and readiness, for instance `"redis-streams"`. */
  readonly name: string;
  /**
   * Hands messages over. Resolves when the broker holds all of them; rejects when any of them may be missing, after
   * which the caller publishes all of them again: a message can be there twice, never not at all. Ends in bounded
   * time, also while the broker hangs or is away. Messages of one key are stored in the order given.
   *
   * A rejection whose error has `permanent: true` says that these messages can never be taken (too large for the
   * broker, a topic it refuses): the relay does not try those again.
   */
  publish(
    messages: readonly BusMessage[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
  /**
   * Subscribes a group. Each group gets every message of its topics that was published after the group was made, at
   * least once; within a group one consumer gets it. A message is acknowledged when the handler resolves and
   * delivered again when it rejects or its process dies. Goes on by itself after a broker that was away.
   * Rejects when the subscription cannot be made within bounded time.
   */
  consume(options: ConsumeOptions): Promise<Consumption>;
  /** The check named `event-bus`: never critical, and ends by its signal. Reads state or asks once; never waits. */
  readiness(): ReadinessCheck;
  /** Ends every consumption and the connections that the bus opened by itself. Safe to call twice. */
  close(): Promise<void>;
}
