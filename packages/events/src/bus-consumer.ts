import { atMostEvery, backoff, safeLogger } from "@svc/resilience";
import { namesOf, optionError } from "@svc/options";
import { setTimeout as sleep } from "node:timers/promises";
import { type BusConsumerOptions, busConsumerOptions } from "./options.ts";
import type { Consumption } from "./event-bus.ts";

/** Passes events from a bus to the local subscribers. */
export interface BusConsumer extends AsyncDisposable {
  /**
   * Subscribes, and retries while the bus is unavailable. Further calls do nothing.
   *
   * @throws Error after `stop()`
   */
  start(): void;
  /** Stops once the events in progress are queued. Never rejects. */
  stop(): Promise<void>;
  /** Whether a subscription currently exists. */
  readonly subscribed: boolean;
}

const WARN_EVERY_MS = 10_000;
const LONGEST_FACTOR = 30;

/**
 * Creates the consumer that passes a bus's events to `events.receive`. Sends nothing before `start()`.
 *
 * @throws ConfigurationError, including when no type has a subscriber and `topics` is not set
 */
export function createBusConsumer(given: BusConsumerOptions): BusConsumer {
  const resolved = busConsumerOptions.resolve(given);
  const { bus, events, group, topics = events.topics, concurrency, retryMs } = resolved;
  if (topics.length === 0) {
    const message = "must name at least one topic, because no event type has a subscriber";
    throw optionError(namesOf(given, busConsumerOptions.subject), "topics", message);
  }
  const logger = safeLogger(resolved.logger);
  const warn = atMostEvery(WARN_EVERY_MS, (suppressed, error: unknown) =>
    logger?.warn({ bus: bus.name, group, err: error, suppressed }, "cannot subscribe to the event bus"),
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
        // stop() was called while the bus was creating the subscription.
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
        throw new Error("a stopped bus consumer cannot start again: create a new one");
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
