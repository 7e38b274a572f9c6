import { calmLogger, type Logger } from "@svc/context";
import { atMostEvery, backoff } from "@svc/resilience";
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
import type { Consumption, EventBus } from "./event-bus.ts";
import type { Events } from "./events.ts";

/** What {@link createBusConsumer} takes. */
export interface BusConsumerOptions {
  /** Where events come from. Required. */
  readonly bus: EventBus;
  /** Whose subscribers get them. Required. */
  readonly events: Pick<Events, "receive" | "topics">;
  /** The name of this service at the bus: its replicas share the events of one group. Required. */
  readonly group: string;
  /** What to consume. Default: the topics of the types that have subscribers. */
  readonly topics?: readonly string[] | undefined;
  /** Events that are queued at a time, 1 to 1,000; more than one gives their order up. Default: 1. */
  readonly concurrency?: number | undefined;
  /** Milliseconds until a subscription that failed is tried again; doubled up to 30 times of that. Default: 1,000. */
  readonly retryMs?: number | undefined;
  /** Is told when the bus does not let itself be subscribed to. Default: nobody. */
  readonly logger?: Logger | undefined;
}

/** Hands events of a bus on to local subscribers. */
export interface BusConsumer extends AsyncDisposable {
  /**
   * Subscribes, and goes on trying while the bus is away. Does nothing the second time.
   * @throws Error after `stop()`
   */
  start(): void;
  /** Ends after the events in hand. Never rejects. */
  stop(): Promise<void>;
  /** Whether it is subscribed at the moment. */
  readonly subscribed: boolean;
}

const SUBJECT = "createBusConsumer()";
const WARN_EVERY_MS = 10_000;
const SLOWEST = 30;

/**
 * Makes what feeds a bus's events into `events.receive`. Nothing is sent before `start()`.
 *
 * @throws ConfigurationError, also when there is nothing to consume: no type has a subscriber
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
  const logger = calmLogger(resolved.logger);
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.warn(
      { bus: bus.name, group, err: error, suppressed },
      "the event bus does not let itself be subscribed to",
    ),
  );
  const delay = backoff({ baseMs: retryMs, maxMs: SLOWEST * retryMs });
  let stopping = false;
  let running: Promise<void> | undefined;
  let consumption: Consumption | undefined;
  let wake: (() => void) | undefined;

  async function subscribe(): Promise<void> {
    for (let attempts = 1; !stopping; attempts++) {
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
        // It was stopped while the bus was being asked.
        if (stopping) await started.stop();
        return;
      } catch (error) {
        if (stopping) return;
        warn(error);
        await pause(delay(attempts));
      }
    }
  }

  function pause(ms: number): Promise<void> {
    if (stopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const consumer: BusConsumer = {
    get subscribed() {
      return consumption !== undefined;
    },
    start() {
      if (stopping)
        throw new Error("a consumer of a bus that was stopped does not start again: make another one");
      running ??= subscribe();
    },
    async stop() {
      stopping = true;
      wake?.();
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
