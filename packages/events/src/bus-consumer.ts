import type { Logger } from "@svc/context";
import { atMostEvery, backoff, safeLogger } from "@svc/resilience";
import {
  ConfigurationError,
  integer,
  listOf,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { setTimeout as sleep } from "node:timers/promises";
import type { Consumption, EventBus } from "./event-bus.ts";
import type { Events } from "./events.ts";

/** Options of {@link createBusConsumer}. */
export interface BusConsumerOptions {
  /** The bus that delivers the events. Required. */
  readonly bus: EventBus;
  /** The result of `createEvents()`, whose subscribers handle the events. Required. */
  readonly events: Pick<Events, "receive" | "topics">;
  /** The consumer group, normally the service's name: its replicas share the events of the group. Required. */
  readonly group: string;
  /** The topics to consume. Default: the topics of all types that have subscribers. */
  readonly topics?: readonly string[] | undefined;
  /** Events queued concurrently, 1 to 1,000; values above 1 give up the order. Default: 1. */
  readonly concurrency?: number | undefined;
  /**
   * Milliseconds before the first retry of a failed subscription; doubles up to 30 times this value. Default: 1,000.
   */
  readonly retryMs?: number | undefined;
  /** Receives a warning while the subscription to the bus fails. Default: none. */
  readonly logger?: Logger | undefined;
}

/** Passes events from a bus to the local subscribers. */
export interface BusConsumer extends AsyncDisposable {
  /**
   * Subscribes, and retries while the bus is unavailable. A second call does nothing.
   *
   * @throws Error after `stop()`
   */
  start(): void;
  /** Stops after the events being handled are queued. Never rejects. */
  stop(): Promise<void>;
  /** Whether the subscription exists at the moment. */
  readonly subscribed: boolean;
}

const SUBJECT = "createBusConsumer()";
const WARN_EVERY_MS = 10_000;
const LONGEST_FACTOR = 30;

/**
 * Creates the consumer that passes a bus's events to `events.receive`. Sends nothing before `start()`.
 *
 * @throws ConfigurationError, also when no type has a subscriber and no topics are given
 */
export function createBusConsumer(given: BusConsumerOptions): BusConsumer {
  const resolved = resolveOptions(SUBJECT, given, {
    bus: objectWith<EventBus>("an event bus", "publish", "consume"),
    events: objectWith<BusConsumerOptions["events"]>("what createEvents() answers", "receive"),
    group: string({ pattern: /^[\w.-]{1,100}$/, expects: "1 to 100 letters, digits, ., _ or -" }),
    topics: optional(listOf(string())),
    concurrency: withDefault(integer({ min: 1, max: 1000 }), 1),
    retryMs: withDefault(integer({ min: 1, max: 60_000 }), 1000),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
  });
  const { bus, events, group, topics = events.topics, concurrency, retryMs } = resolved;
  if (topics.length === 0) {
    throw new ConfigurationError(SUBJECT, [
      {
        key: "topics",
        message: "must have a topic: no type has a subscriber, so there is nothing to consume",
      },
    ]);
  }
  const logger = safeLogger(resolved.logger);
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.warn(
      { bus: bus.name, group, err: error, suppressed },
      "the event bus does not let itself be subscribed to",
    ),
  );
  const delay = backoff({ baseMs: retryMs, maxMs: LONGEST_FACTOR * retryMs });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let consumption: Consumption | undefined;

  async function subscribe(): Promise<void> {
    for (let attempts = 1; !stopping.signal.aborted; attempts++) {
      try {
        const started = await bus.consume({
          group,
          topics,
          concurrency,
          handler: (message) => events.receive(message),
          logger: resolved.logger,
        });
        consumption = started;
        const ended = (): void => {
          consumption = undefined;
        };
        void started.stopped.then(ended, ended);
        // stop() was called while the bus was subscribing.
        if (stopping.signal.aborted) await started.stop();
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        warn(error);
        await sleep(delay(attempts), undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  const consumer: BusConsumer = {
    get subscribed() {
      return consumption !== undefined;
    },
    start() {
      if (stopping.signal.aborted)
        throw new Error("a consumer of a bus that was stopped does not start again: make another one");
      running ??= subscribe();
    },
    async stop() {
      stopping.abort();
      try {
        await running;
        await consumption?.stop();
      } catch (error) {
        warn(error);
      }
    },
    [Symbol.asyncDispose]: () => consumer.stop(),
  };
  return consumer;
}
