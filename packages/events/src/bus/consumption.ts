import type { Logger } from "@svc/context";
import { atMostEvery, backoff, safeLogger, withDeadline } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConsumeOptions, Consumption } from "../event-bus.ts";
import type { Broker, Delivery, Reader } from "./broker.ts";
import type { EventBusError } from "./event-bus-error.ts";
import type { ResolvedBus } from "./options.ts";
import { createPrefetchBuffer } from "./prefetch-buffer.ts";

/** A consumption with the state that the readiness check reports. */
export interface RunningConsumption extends Consumption {
  readonly group: string;
  /** Messages that were received and are not acknowledged. */
  readonly held: number;
  /** Why it cannot read at the moment; undefined while it can. */
  readonly trouble: string | undefined;
}

/**
 * Starts the consumption of one group: reads messages, passes them to the handler and acknowledges them until it stops.
 *
 * @throws errors of the broker, and DeadlineError when the subscription does not open within `timeoutMs`
 */
export async function startConsumption<D extends Delivery>(
  { group, topics, handler, concurrency = 1, logger }: ConsumeOptions,
  broker: Broker<D>,
  options: ResolvedBus,
  explain: (error: unknown) => EventBusError,
): Promise<RunningConsumption> {
  const { timeoutMs, stopTimeoutMs, retryBaseMs, retryMaxMs } = options;
  const journal = createJournal(logger ?? options.logger, broker.title.toLowerCase(), group);
  const prefetch = Math.max(options.prefetch, concurrency);
  const stopping = new AbortController();
  const ended = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 5000 });
  let roomMade: PromiseWithResolvers<void> | undefined;

  const buffer = createPrefetchBuffer<D>({
    concurrency,
    handler,
    pauseMs: backoff({ baseMs: retryBaseMs, maxMs: retryMaxMs, jitter: "none" }),
    acknowledge: (delivery) => subscription.acknowledge(delivery),
    rejected: (delivery, error, pauseMs) => journal.rejected(delivery, error, pauseMs),
    removed: wakeReaders,
  });
  const subscription = broker.subscribe({
    group,
    topics: [...new Set(topics)],
    startFrom: options.startFrom,
    prefetch,
    stopping: stopping.signal,
    deliver: (delivery) => buffer.add(delivery),
    find: (position) => buffer.get(position),
    all: () => buffer.all(),
    drop: (position) => buffer.drop(position),
    skipped: (where) => journal.skipped(where),
    recovered: () => journal.recovered(),
  });

  function wakeReaders(): void {
    roomMade?.resolve();
    roomMade = undefined;
  }

  async function read(reader: Reader): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      const free = reader.room?.() ?? prefetch - buffer.size;
      if (free <= 0) {
        await (roomMade ??= Promise.withResolvers<void>()).promise;
        continue;
      }
      try {
        await reader.fetch(free);
        failures = 0;
        if (!stopping.signal.aborted) journal.recovered();
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures++;
        journal.failed(explain(error));
        await sleep(pause(failures), undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function keepAlive(): Promise<void> {
    while (subscription.keepAlive !== undefined && !ended.signal.aborted) {
      try {
        await subscription.keepAlive();
      } catch (error) {
        if (!stopping.signal.aborted) journal.failed(explain(error));
      }
      const { keepAliveMs = KEEP_ALIVE_MS } = subscription;
      await sleep(keepAliveMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  try {
    await withDeadline(timeoutMs, () => subscription.open());
  } catch (error) {
    stopping.abort();
    await subscription.stop([]);
    throw error;
  }
  const reading = Promise.all((subscription.readers ?? []).map(read));
  const signalling = keepAlive();

  async function end(): Promise<void> {
    stopping.abort();
    wakeReaders();
    await subscription.stop(buffer.halt());
    await reading;
    await withDeadline(stopTimeoutMs, () => buffer.idle).catch(() => journal.abandoned(buffer.size));
    ended.abort();
    await signalling;
    await subscription.close(buffer.all());
  }

  const stopped = Promise.withResolvers<void>();
  let stop: Promise<void> | undefined;
  const stopOnce = (): Promise<void> => (stop ??= end().then(() => stopped.resolve()));
  return {
    group,
    get held() {
      return buffer.size;
    },
    get trouble() {
      return journal.trouble;
    },
    stop: stopOnce,
    stopped: stopped.promise,
    [Symbol.asyncDispose]: stopOnce,
  };
}

const KEEP_ALIVE_MS = 10_000;
const WARN_EVERY_MS = 10_000;

/** Logs the events of one consumption and keeps whether it can read. */
interface Journal {
  readonly trouble: string | undefined;
  /** Reading failed; logged at most every 10 s. */
  failed(why: EventBusError): void;
  recovered(): void;
  rejected(delivery: Delivery, error: unknown, pauseMs: number): void;
  skipped(where: object): void;
  abandoned(running: number): void;
}

function createJournal(given: Logger | undefined, broker: string, group: string): Journal {
  const logger = safeLogger(given);
  let trouble: string | undefined;
  const warn = atMostEvery(WARN_EVERY_MS, (_suppressed, why: string) =>
    logger?.warn({ group, broker, why }, "cannot read from the event bus; trying on"),
  );
  return {
    get trouble() {
      return trouble;
    },
    failed(why) {
      trouble = why.message;
      warn(trouble);
    },
    recovered() {
      if (trouble === undefined) return;
      trouble = undefined;
      logger?.info({ group, broker }, "reading from the event bus again");
    },
    rejected({ message: { topic, id }, deliveries }, err, pauseMs) {
      const fields = { topic, group, event_id: id, deliveries: deliveries - 1, pause_ms: pauseMs, err };
      logger?.warn(fields, "a message was rejected and will be tried again");
    },
    skipped(where) {
      logger?.error({ group, ...where }, "skipped an entry that is not a message of this event bus");
    },
    abandoned(running) {
      logger?.warn({ group, running }, "handlers still run; their messages are given back");
    },
  };
}
