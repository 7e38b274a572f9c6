import { calmLogger } from "@svc/context";
import type { JobHandler } from "@svc/job-table";
import { withDeadline } from "@svc/resilience";
import type { Queryable } from "@svc/sql";
import { type EventEnvelope, type NewEvent, writeEnvelope, type Written } from "./envelope.ts";
import { EventError, refused } from "./errors.ts";
import type { BusMessage, EventBus } from "./event-bus.ts";
import { type EventsOptions, type EventTypes, type ResolvedEvents, resolveEventsOptions } from "./options.ts";
import { transactionOf, type Within } from "./query.ts";
import { createReceiver } from "./receive.ts";
import { subscriberHandlers, subscriberJobs } from "./subscriber-jobs.ts";
import { createTell } from "./tell.ts";

/**
 * Where an event is published: with `tx` it is part of the caller's transaction, and published when that is committed. With
 * a bus this needs an outbox. Default: none, it is published at once.
 */
export type PublishOptions = Within;

/** Any event of the types. */
export type AnyEvent<M> = {
  [T in keyof M & string]: NewEvent<T, M[T] & object>;
}[keyof M & string];

/** Publishes events, and makes jobs of them for subscribers. */
export interface Events<M = Record<string, object>> {
  readonly source: string;
  /** The topics of the types that have subscribers here: what to consume from a bus. */
  readonly topics: readonly string[];
  readonly bus: EventBus | undefined;
  /** The handlers of subscribers' jobs by task, for `createWorker()`. */
  readonly handlers: Readonly<Record<string, JobHandler>>;
  /**
   * Publishes an event (EVT-2) and answers its envelope. With an outbox it is written there; without one the jobs of
   * its subscribers are queued and then the bus gets it.
   *
   * @throws EventError `ERR_SVC_EVENT_ARGUMENT`; `ERR_SVC_EVENT_UNDELIVERABLE` (EVT-6); `ERR_SVC_EVENT_OUTBOX_NEEDED`;
   *   `ERR_SVC_EVENT_BUS`: jobs are queued, and publishing the same id again adds what is missing
   * @throws JobError for an event that the job table does not take; what the database says
   */
  publish<T extends keyof M & string>(
    event: NewEvent<T, M[T] & object>,
    options?: PublishOptions,
  ): Promise<EventEnvelope<T, M[T] & object>>;
  /** Publishes up to 1,000 events, in their order; throws as `publish` does, before anything is sent where one is wrong. */
  publishMany(events: readonly AnyEvent<M>[], options?: PublishOptions): Promise<readonly EventEnvelope[]>;
  /**
   * Queues the jobs of an event that came over a bus; one of this service's own is skipped, its jobs were queued when it
   * was published. What is no event is told to the logger and dropped. Rejects when the jobs could not be queued: the
   * bus delivers it again.
   */
  receive(message: BusMessage): Promise<void>;
}

const MAX_EVENTS = 1000;
const internals = new WeakMap<object, ResolvedEvents>();

/** What a relay needs to know. Undefined for what {@link createEvents} has not made. */
export function resolvedEvents(events: object): ResolvedEvents | undefined {
  return internals.get(events);
}

/** The topic of a type (EVT-8). */
export function topicOf({ topicPrefix }: ResolvedEvents, type: string): string {
  return topicPrefix + type;
}

/** What a bus gets. */
export function messageOf(topic: string, { envelope, body }: Written): BusMessage {
  return { topic, id: envelope.id, key: envelope.key, body };
}

/**
 * Makes the events of a service. Nothing is sent before the first call.
 *
 * @throws ConfigurationError
 */
export function createEvents<M extends EventTypes<M> = Record<string, object>>(
  given: EventsOptions<NoInfer<M>>,
): Events<M> {
  const options = resolveEventsOptions<M>(given);
  const { source, table, subscriptions, outbox, bus, busTimeoutMs, maxEventBytes, now } = options;
  const tell = createTell(options.onEvent, calmLogger(options.logger));

  function written(event: NewEvent): Written {
    const one = writeEnvelope(event, source, maxEventBytes, now);
    if (bus === undefined && !subscriptions.has(one.envelope.type)) {
      throw new EventError(
        "ERR_SVC_EVENT_UNDELIVERABLE",
        `nobody would get ${JSON.stringify(one.envelope.type)}: it has no subscriber, and there is no bus`,
      );
    }
    return one;
  }

  async function send(all: readonly Written[], tx: Queryable | undefined): Promise<number> {
    if (tx !== undefined && bus !== undefined) {
      throw new EventError(
        "ERR_SVC_EVENT_OUTBOX_NEEDED",
        `${bus.name} cannot take part in a transaction: give createEvents() an outbox, or publish after the commit`,
      );
    }
    const jobs = all.flatMap(({ envelope }) =>
      subscriberJobs(subscriptions.get(envelope.type) ?? [], topicOf(options, envelope.type), envelope),
    );
    if (jobs.length > 0) await table?.enqueueMany(jobs, { tx });
    if (bus !== undefined) {
      try {
        const messages = all.map((one) => messageOf(topicOf(options, one.envelope.type), one));
        await withDeadline(busTimeoutMs, (signal) => bus.publish(messages, { signal }));
      } catch (cause) {
        throw new EventError("ERR_SVC_EVENT_BUS", `${bus.name} did not take the events`, { cause });
      }
    }
    return jobs.length;
  }

  async function publishAll(
    given: readonly NewEvent[],
    within: PublishOptions | undefined,
  ): Promise<readonly EventEnvelope[]> {
    const tx = transactionOf(within);
    const all = given.map(written);
    if (all.length === 0) return [];
    if (outbox === undefined) await send(all, tx);
    else {
      const entries = all.map(({ envelope }) => ({
        topic: topicOf(options, envelope.type),
        event: envelope,
      }));
      await outbox.add(entries, { tx });
    }
    for (const { envelope } of all) {
      const jobs = outbox === undefined ? (subscriptions.get(envelope.type)?.length ?? 0) : 0;
      tell({ type: "published", event: envelope, jobs, outbox: outbox !== undefined });
    }
    return all.map(({ envelope }) => envelope);
  }

  const events: Events<M> = {
    source,
    topics: [...subscriptions.keys()].map((type) => topicOf(options, type)),
    bus,
    handlers: subscriberHandlers(subscriptions.values()),
    async publish<T extends keyof M & string>(event: NewEvent<T, M[T] & object>, given?: PublishOptions) {
      const [envelope] = await publishAll([event], given);
      return envelope as EventEnvelope<T, M[T] & object>;
    },
    async publishMany(list, given) {
      if (!Array.isArray(list) || list.length > MAX_EVENTS) {
        throw refused(`events must be a list of at most ${MAX_EVENTS}`);
      }
      return publishAll(list, given);
    },
    receive: createReceiver(options, tell),
  };
  internals.set(events, options);
  return events;
}
