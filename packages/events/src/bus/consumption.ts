import { atMostEvery, backoff, safeLogger, withDeadline } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConsumeOptions, Consumption } from "../event-bus.ts";
import type { Broker, Delivery, Reader } from "./broker.ts";
import type { EventBusError } from "./event-bus-error.ts";
import type { ResolvedBus } from "./options.ts";
import { createPrefetchBuffer, type Entry } from "./prefetch-buffer.ts";

/** A running subscription with the state that the readiness check reports. */
export interface RunningConsumption extends Consumption {
  readonly group: string;
  /** Number of received messages that are not yet acknowledged. */
  readonly held: number;
  /** Why the subscription currently cannot read; undefined while it can. */
  readonly trouble: string | undefined;
}

const KEEP_ALIVE_MS = 10_000;
const WARN_EVERY_MS = 10_000;

/**
 * Starts the subscription of one group. It reads messages, passes them to the handler and acknowledges them, until the
 * subscription is stopped.
 *
 * @throws broker errors, and DeadlineError when the subscription does not open within `timeoutMs`
 */
export async function startConsumption<D extends Delivery>(
  { group, topics, handler, concurrency = 1, logger: given }: ConsumeOptions,
  broker: Broker<D>,
  options: ResolvedBus,
  explain: (error: unknown) => EventBusError,
): Promise<RunningConsumption> {
  const { timeoutMs, stopTimeoutMs, retryBaseMs, retryMaxMs } = options;
  const logger = safeLogger(given ?? options.logger);
  const title = broker.title.toLowerCase();
  const warn = atMostEvery(WARN_EVERY_MS, (_suppressed, why: string) =>
    logger?.warn({ group, broker: title, why }, "cannot read from the event bus; retrying"),
  );
  const prefetch = Math.max(options.prefetch, concurrency);
  const buffer = createPrefetchBuffer<D>(concurrency);
  const pauseAfterFailure = backoff({ baseMs: 100, minMs: 100, maxMs: 5000 });
  const pauseAfterRejection = backoff({ baseMs: retryBaseMs, maxMs: retryMaxMs, jitter: "none" });
  const stopping = new AbortController();
  // Aborts once the handlers have finished or timed out after `stop()`; until then `keepAlive` is called.
  const ended = new AbortController();
  const idle = Promise.withResolvers<void>();
  let unfinished = 0;
  let roomMade: PromiseWithResolvers<void> | undefined;
  let trouble: string | undefined;

  const subscription = broker.subscribe({
    group,
    topics: [...new Set(topics)],
    startFrom: options.startFrom,
    prefetch,
    stopping: stopping.signal,
    deliver(delivery) {
      if (stopping.signal.aborted || buffer.get(delivery.position) !== undefined) return;
      buffer.add(delivery);
      startHandlers();
    },
    find: (position) => buffer.get(position)?.delivery,
    all: () => buffer.all(),
    drop(position) {
      const entry = buffer.get(position);
      if (entry === undefined || entry.state === "running" || entry.state === "handled") return;
      remove(entry);
      startHandlers();
    },
    skipped(where) {
      logger?.error({ group, ...where }, "skipped an entry that is not a message of this event bus");
    },
    recovered,
  });

  function startHandlers(): void {
    while (!stopping.signal.aborted) {
      const entry = buffer.startNext();
      if (entry === undefined) return;
      void handle(entry);
    }
  }

  async function handle(entry: Entry<D>): Promise<void> {
    const { delivery } = entry;
    unfinished++;
    try {
      await handler(delivery.message, { deliveries: delivery.deliveries });
      buffer.handled(entry);
    } catch (error) {
      retryLater(entry, error);
    }
    startHandlers();
    if (entry.state === "handled") {
      await subscription.acknowledge(delivery);
      remove(entry);
    }
    unfinished--;
    if (stopping.signal.aborted && unfinished === 0) idle.resolve();
  }

  function retryLater(entry: Entry<D>, err: unknown): void {
    const { message, deliveries } = entry.delivery;
    const ms = pauseAfterRejection(deliveries);
    buffer.rejected(entry);
    entry.delivery.deliveries++;
    const fields = { topic: message.topic, group, event_id: message.id, deliveries, pause_ms: ms, err };
    logger?.warn(fields, "a message was rejected and will be retried");
    if (stopping.signal.aborted) return;
    entry.timer = setTimeout(() => {
      buffer.retry(entry);
      startHandlers();
    }, ms);
  }

  function remove(entry: Entry<D>): void {
    buffer.remove(entry);
    wakeReaders();
  }

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
        if (!stopping.signal.aborted) recovered();
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures++;
        failed(error);
        await sleep(pauseAfterFailure(failures), undefined, { signal: stopping.signal }).catch(
          () => undefined,
        );
      }
    }
  }

  async function keepAlive(): Promise<void> {
    while (subscription.keepAlive !== undefined && !ended.signal.aborted) {
      try {
        await subscription.keepAlive();
      } catch (error) {
        if (!stopping.signal.aborted) failed(error);
      }
      const { keepAliveMs = KEEP_ALIVE_MS } = subscription;
      await sleep(keepAliveMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  function failed(error: unknown): void {
    trouble = explain(error).message;
    warn(trouble);
  }

  function recovered(): void {
    if (trouble === undefined) return;
    trouble = undefined;
    logger?.info({ group, broker: title }, "reading from the event bus again");
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
    await subscription.stop(buffer.removeUnstarted());
    await reading;
    if (unfinished === 0) idle.resolve();
    await withDeadline(stopTimeoutMs, () => idle.promise).catch(() =>
      logger?.warn(
        { group, running: buffer.size },
        "handlers are still running; their messages are released",
      ),
    );
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
      return trouble;
    },
    stop: stopOnce,
    stopped: stopped.promise,
    [Symbol.asyncDispose]: stopOnce,
  };
}
