import type { JobHandler, NewJob, NotInferred } from "@svc/job-table";
import { namesOf, optionError } from "@svc/options";
import { atMostEvery, createEmitter, DeadlineError, safeLogger, withDeadline } from "@svc/resilience";
import { isConnectionError, type Queryable, sqlStateOf, transactionOf, type Within } from "@svc/sql";
import { type EventEnvelope, type NewEvent, writeEnvelope, type Written } from "./envelope.ts";
import { EventError, refused } from "./errors.ts";
import type { BusMessage, EventBus } from "./event-bus.ts";
import { type EventsOptions, eventsOptions } from "./options.ts";
import { accessOf } from "./outbox/outbox.ts";
import { readEnvelope } from "./read-envelope.ts";
import { type EventTypes, subscriberHandlers, subscriberJobs, subscriptionsOf } from "./subscribers.ts";
import { isText } from "./text.ts";

/**
 * With `tx` the event is published when the caller's transaction commits; if there is a bus, this requires an outbox.
 * Default: published immediately.
 */
export type PublishOptions = Within;

/** Any event with a declared type. */
export type AnyEvent<M> = {
  [T in keyof M & string]: NewEvent<T, M[T] & object>;
}[keyof M & string];

/** Publishes events and queues jobs for their subscribers. */
export interface Events<M = Record<string, object>> {
  readonly source: string;
  /** The topics of all types with subscribers in this service: the topics to consume from a bus. */
  readonly topics: readonly string[];
  readonly bus: EventBus | undefined;
  /** Maps the subscribers' tasks to their job handlers, for `createWorker()`. */
  readonly handlers: Readonly<Record<string, JobHandler>>;
  /**
   * Publishes an event (EVT-2) and returns its envelope. With an outbox, the event is written there. Without one, the
   * subscribers' jobs are queued first, then the event is sent to the bus.
   *
   * @throws EventError `ERR_SVC_EVENT_ARGUMENT`; `ERR_SVC_EVENT_UNDELIVERABLE` (EVT-6); `ERR_SVC_EVENT_OUTBOX_NEEDED`;
   *   `ERR_SVC_EVENT_BUS`: the jobs are queued; publishing the same id again adds only what is missing
   * @throws JobError for an event that the job table rejects; database errors
   */
  publish<T extends keyof M & string>(
    event: NewEvent<T, M[T] & object>,
    options?: PublishOptions,
  ): Promise<EventEnvelope<T, M[T] & object>>;
  /**
   * Publishes up to 1,000 events in order. Throws as `publish` does. One invalid event rejects all before anything is
   * sent. Without an outbox all jobs are queued at once, so the call also rejects more than 10,000 jobs, or more than
   * 67,108,864 characters of payloads.
   */
  publishMany(events: readonly AnyEvent<M>[], options?: PublishOptions): Promise<readonly EventEnvelope[]>;
  /**
   * Queues the jobs for an event that arrived over a bus. Skips an event from this service, whose jobs `publish()` or
   * the relay queues. Logs and drops a message that is not a valid event, or whose jobs can never be stored. Rejects when
   * the jobs could not be queued; the bus then delivers the message again.
   */
  receive(message: BusMessage): Promise<void>;
}

/** The options with all defaults applied. */
export type ResolvedEvents = ReturnType<typeof resolveEvents>;

const MAX_EVENTS = 1000;
const WARN_EVERY_MS = 10_000;
// Maximum number of pending calls: while the database hangs, each redelivery leaves one in the pool.
const MAX_PENDING = 1000;
const internals = new WeakMap<object, ResolvedEvents>();

/** Returns the resolved options, which a relay needs; undefined for an object not created by {@link createEvents}. */
export function resolvedEvents(events: object): ResolvedEvents | undefined {
  return internals.get(events);
}

/** Returns the topic for an event type (EVT-8). */
export function topicOf({ topicPrefix }: ResolvedEvents, type: string): string {
  return topicPrefix + type;
}

/** Returns the bus message for an event. */
export function messageOf(topic: string, { envelope, body }: Written): BusMessage {
  return { topic, id: envelope.id, key: envelope.key, body };
}

/**
 * Creates a publisher and subscribers for a service's events. Sends nothing before the first call.
 *
 * @throws ConfigurationError
 */
export function createEvents<M extends EventTypes<M> = Record<string, object>>(
  given: EventsOptions<NotInferred<M>>,
): Events<M> {
  const options = resolveEvents<M>(given);
  const { source, table, subscriptions, outbox, bus, maxEventBytes, receiveTimeoutMs } = options;
  const logger = safeLogger(options.logger);
  const { emit } = createEmitter(options.onEvent, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "an event listener threw an error"),
  );

  const access = outbox && accessOf(outbox);

  function written(event: NewEvent): Written {
    const one = writeEnvelope(event, source, maxEventBytes, options.now);
    if (bus === undefined && !subscriptions.has(one.envelope.type)) {
      throw new EventError(
        "ERR_SVC_EVENT_UNDELIVERABLE",
        `cannot deliver ${JSON.stringify(one.envelope.type)}: it has no subscriber, and there is no bus`,
      );
    }
    return one;
  }

  async function send(all: readonly Written[], tx: Queryable | undefined): Promise<number> {
    if (tx !== undefined && bus !== undefined) {
      throw new EventError(
        "ERR_SVC_EVENT_OUTBOX_NEEDED",
        `${bus.name} cannot take part in a transaction: pass an outbox to createEvents(), or publish after the commit`,
      );
    }
    const jobs = all.flatMap(({ envelope }) =>
      subscriberJobs(subscriptions.get(envelope.type) ?? [], topicOf(options, envelope.type), envelope),
    );
    if (jobs.length > 0) await table?.enqueueMany(jobs, { tx });
    if (bus !== undefined) {
      try {
        const messages = all.map((one) => messageOf(topicOf(options, one.envelope.type), one));
        await withDeadline(options.busTimeoutMs, (signal) => bus.publish(messages, { signal }));
      } catch (cause) {
        throw new EventError("ERR_SVC_EVENT_BUS", `publishing to ${bus.name} failed`, { cause });
      }
    }
    return jobs.length;
  }

  async function publishAll(
    given: readonly NewEvent[],
    within: PublishOptions | undefined,
  ): Promise<readonly EventEnvelope[]> {
    const tx = transactionOf(within, refused);
    const all = given.map(written);
    if (all.length === 0) return [];
    if (outbox === undefined) await send(all, tx);
    else {
      const entries = all.map(({ envelope, body }) => ({
        topic: topicOf(options, envelope.type),
        event: envelope,
        body,
      }));
      // Store the JSON that was checked, because another serialization costs time and may differ. An outbox that was not
      // created by createOutbox(), such as one that wraps it, has only `add()`.
      await (access === undefined ? outbox.add(entries, { tx }) : access.write(entries, tx));
    }
    for (const { envelope } of all) {
      const jobs = outbox === undefined ? (subscriptions.get(envelope.type)?.length ?? 0) : 0;
      emit({ type: "published", event: envelope, jobs, outbox: outbox !== undefined });
    }
    return all.map(({ envelope }) => envelope);
  }

  const warnDropped = atMostEvery(WARN_EVERY_MS, (suppressed, topic: string, error: unknown) =>
    logger?.warn(
      { topic, err: error, suppressed },
      "dropped a message from the bus that is not a valid event",
    ),
  );

  function drop(topic: string, error: unknown): void {
    warnDropped(topic, error);
    emit({ type: "refused", topic, error });
  }

  let pending = 0;

  async function queueReceived(jobs: readonly NewJob[]): Promise<void> {
    if (pending >= MAX_PENDING) throw new DeadlineError(receiveTimeoutMs);
    pending += 1;
    try {
      await table?.enqueueMany(jobs);
    } finally {
      pending -= 1;
    }
  }

  async function receive(message: BusMessage): Promise<void> {
    const topic = isText(message.topic, 500) ? message.topic : "";
    let event: EventEnvelope;
    try {
      event = readEnvelope(String(message.body), maxEventBytes);
    } catch (error) {
      drop(topic, error);
      return;
    }
    const own = event.source === source;
    const mine = own ? [] : (subscriptions.get(event.type) ?? []);
    if (mine.length > 0) {
      const jobs = subscriberJobs(mine, topic === "" ? topicOf(options, event.type) : topic, event);
      try {
        await withDeadline(receiveTimeoutMs, () => queueReceived(jobs));
      } catch (error) {
        // Drop an event whose job can never be stored: the bus would redeliver it forever, and it would block its key.
        if (!isRefusedJob(error) && !isUnstorable(error)) throw error;
        drop(topic, error);
        return;
      }
    }
    emit({ type: "received", event, jobs: mine.length, own });
  }

  const events: Events<M> = {
    source,
    topics: [...subscriptions.keys()].map((type) => topicOf(options, type)),
    bus,
    handlers: subscriberHandlers(subscriptions.values(), options.span),
    async publish<T extends keyof M & string>(event: NewEvent<T, M[T] & object>, given?: PublishOptions) {
      const [envelope] = await publishAll([event], given);
      return envelope as EventEnvelope<T, M[T] & object>;
    },
    async publishMany(list, given) {
      if (!Array.isArray(list) || list.length > MAX_EVENTS) {
        throw refused(`events must be a list of at most ${MAX_EVENTS} events`);
      }
      return publishAll(list, given);
    },
    receive,
  };
  internals.set(events, options);
  return events;
}

/** @throws ConfigurationError */
function resolveEvents<M>(given: EventsOptions<M>) {
  const { subscribers, ...options } = eventsOptions.resolve(given);
  const names = namesOf(given, eventsOptions.subject);
  const subscriptions = subscriptionsOf(subscribers, names);
  if (subscriptions.size > 0 && options.table === undefined) {
    const message = "is required with subscribers, because their jobs are queued in it";
    throw optionError(names, "table", message);
  }
  return { ...options, subscriptions };
}

/** Returns whether PostgreSQL cannot store the data, because of its nesting depth or its characters. */
function isUnstorable(error: unknown): boolean {
  return !isConnectionError(error) && /^(?:22|54)/.test(sqlStateOf(error) ?? "");
}

const REFUSALS: readonly unknown[] = ["ERR_SVC_JOB_ARGUMENT", "ERR_SVC_JOB_SCHEMA"];

/** Returns whether a job table rejected the job itself: it is invalid, or does not match the schema of its task. */
export function isRefusedJob(error: unknown): boolean {
  return error instanceof Error && REFUSALS.includes((error as NodeJS.ErrnoException).code);
}
