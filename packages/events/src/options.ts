import type { Logger, SpanHook } from "@svc/context";
import type { JobTable } from "@svc/job-table";
import { defineOptions, inSeconds, kinds as k, type OptionsOf } from "@svc/options";
import { topic } from "./bus/messages.ts";
import type { EventEnvelope } from "./envelope.ts";
import type { BusMessage, EventBus } from "./event-bus.ts";
import type { Outbox } from "./outbox/outbox.ts";
import type { SubscribersOf } from "./subscribers.ts";

const logger = k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error"));
const deadline = k.withDefault(k.integer({ min: 10, max: 600_000 }), 10_000);

// Reject lists and Maps: a Map's entries are not properties, and the indexes of a list change with its order.
const byType: k.Kind<object> = {
  expects: "an object of subscribers by event type",
  accepts: (value): value is object =>
    typeof value === "object" && value !== null && !(Symbol.iterator in value),
};

/** The argument of the `onEvent` function of {@link createEvents}. */
export type EventsEvent =
  /** An event was published: `jobs` jobs were queued for local subscribers, or the event was written to the outbox. */
  | {
      readonly type: "published";
      readonly event: EventEnvelope;
      readonly jobs: number;
      readonly outbox: boolean;
    }
  /**
   * An event arrived over the bus and its jobs were queued. `jobs` is 0 without a subscriber or for the service's own
   * event.
   */
  | { readonly type: "received"; readonly event: EventEnvelope; readonly jobs: number; readonly own: boolean }
  /**
   * A message from the bus was dropped: it is not a valid event, or its jobs can never be stored, so a redelivery would
   * fail again.
   */
  | { readonly type: "refused"; readonly topic: string; readonly error: unknown };

export const eventsOptions = defineOptions("createEvents()", {
  /** Name of this service, the `source` of its events; 1 to 100 characters. Required. */
  source: { kind: k.string({ pattern: /^[ -~]{1,100}$/, expects: "1 to 100 visible characters" }) },
  /** The result of `createJobTable()`, which queues the subscribers' jobs. Required with subscribers. */
  table: { kind: k.optional(k.objectWith<JobTable>("a job table", "enqueueMany", "readiness")) },
  /**
   * The subscribers (EVT-10): `{ [type]: { [name]: (event, job) => ... } }`. Keep the names stable: the task is
   * `<type>-><name>`. Default: none.
   */
  subscribers: { kind: k.withDefault(byType, {}) },
  /** The result of `createOutbox()`: events are written to that table and a relay sends them. Default: none. */
  outbox: { kind: k.optional(k.objectWith<Outbox>("an outbox", "add", "readiness")) },
  /** The bus to other services (EVT-2). Default: none. */
  bus: { kind: k.optional(k.objectWith<EventBus>("an event bus", "publish", "consume")) },
  /**
   * Time limit in milliseconds for publishing to the bus without an outbox. Choose more than the bus's own `timeoutMs`,
   * so that the bus reports its own error. Default: 10,000.
   */
  busTimeoutMs: { kind: deadline },
  /**
   * Prefix of the event type in a topic (EVT-8), for example `eu.`; at most 100 of the characters that a type may have.
   * Default: `""`.
   */
  topicPrefix: {
    key: "topic_prefix",
    kind: k.withDefault(
      k.string({
        allowEmpty: true,
        pattern: /^(?=.{0,100}$)(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*$/,
        expects:
          "words of letters, digits, _ and -, separated by dots, with at most 100 characters; a trailing dot is allowed",
      }),
      "",
    ),
  },
  /**
   * Maximum size in bytes of an envelope as JSON, published or received, up to 64 MiB. The size of a published envelope
   * is computed with all numbers written without exponents, as PostgreSQL stores them. A job table and a NATS server accept
   * 1,048,576 by default. Default: 1,000,000.
   */
  maxEventBytes: {
    key: "max_event_bytes",
    kind: k.withDefault(k.integer({ min: 256, max: 64 * 2 ** 20 }), 1_000_000),
  },
  /** Time limit for queueing a received event, in milliseconds. Default: 10,000. */
  receiveTimeoutMs: { kind: deadline },
  /** Logger for messages from the bus that are not valid events. Default: none. */
  logger: { kind: logger },
  /**
   * Starts a consumer span `event <type>` around every call of a subscriber, inside the span of its job (TRACE-13). Its
   * errors do not affect the job. Default: none.
   */
  span: { kind: k.optional(k.func<SpanHook>()) },
  /** Receives `published`, `received` and `refused`, for metrics. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: EventsEvent) => void>()) },
  /** Returns the current time in milliseconds since the Unix epoch. Default: `Date.now`. */
  now: { kind: k.wallClock },
});

type AnyEventsOptions = OptionsOf<typeof eventsOptions>;

/** Options of {@link createEvents}. */
export type EventsOptions<M> = {
  [N in keyof AnyEventsOptions]: N extends "subscribers" ? SubscribersOf<M> | undefined : AnyEventsOptions[N];
};

/** The members of {@link createEvents}'s result that a bus consumer uses. */
interface EventReceiver {
  readonly topics: readonly string[];
  receive(message: BusMessage): Promise<void>;
}

export const busConsumerOptions = defineOptions("createBusConsumer()", {
  /** The bus that delivers the events. Required. */
  bus: { kind: k.objectWith<EventBus>("an event bus", "publish", "consume") },
  /** The result of `createEvents()`, whose subscribers handle the events. Required. */
  events: { kind: k.objectWith<EventReceiver>("the object returned by createEvents()", "receive") },
  /** The consumer group, normally the service's name: its replicas share the group's events. Required. */
  group: {
    key: "consumer_group",
    kind: k.string({ pattern: /^[\w.-]{1,100}$/, expects: "1 to 100 letters, digits, ., _ or -" }),
  },
  /**
   * Full names of the topics to consume, with the publisher's prefix. Default: the topics of the types that have
   * subscribers.
   */
  topics: { kind: k.optional(k.listOf(topic)) },
  /** Number of events queued concurrently, 1 to 1,000; values above 1 do not keep the order. Default: 1. */
  concurrency: { key: "consume_concurrency", kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 1) },
  /**
   * Milliseconds before the first retry of a failed subscription; the pause doubles up to 30 times this value. Default:
   * 1,000.
   */
  retryMs: { kind: k.withDefault(k.integer({ min: 1, max: 60_000 }), 1000) },
  /** Logger for a failing subscription to the bus. Default: none. */
  logger: { kind: logger },
});

/** Options of {@link createBusConsumer}. */
export type BusConsumerOptions = OptionsOf<typeof busConsumerOptions>;

/** The argument of the `onEvent` function of {@link createRelay}. */
export type RelayEvent =
  /** Events were sent to the bus and their jobs were queued. */
  | { readonly type: "relayed"; readonly ids: readonly string[] }
  /** An event could not be delivered and will be retried. `away`: the bus was unavailable. */
  | { readonly type: "failed"; readonly id: string; readonly error: unknown; readonly away: boolean }
  /** An event is dead and will not be retried. */
  | { readonly type: "dead"; readonly id: string; readonly error: unknown }
  /** Events were sent after their lease had expired: another relay sends them again. */
  | { readonly type: "lost"; readonly ids: readonly string[] }
  /** Old published events were deleted. */
  | { readonly type: "purged"; readonly count: number }
  /** The database failed; the relay retries. */
  | { readonly type: "fault"; readonly error: unknown };

export const relayOptions = defineOptions("createRelay()", {
  /** The result of `createOutbox()`. Required. */
  outbox: { kind: k.objectWith<Outbox>("an outbox", "add", "readiness") },
  /**
   * The result of `createEvents()`, whose `outbox` must be this one. The relay queues jobs for its subscribers and
   * sends to its bus. Required.
   */
  events: { kind: k.objectWith<{ readonly source: string }>("the object returned by createEvents()") },
  /** Number of events claimed at a time, 1 to 500. Default: 100. */
  batch: { key: "relay_batch", kind: k.withDefault(k.integer({ min: 1, max: 500 }), 100) },
  /**
   * Milliseconds between polls of an empty outbox; events from the same process are relayed immediately. Default: 1,000.
   */
  everyMs: {
    key: "relay_every",
    kind: k.withDefault(k.integer({ min: 5, max: 600_000 }), 1000),
    inFile: {
      ...inSeconds(k.number({ min: 0.005, max: 600 })),
      toOption: (seconds: number) => Math.round(seconds * 1000),
    },
  },
  /** Seconds that an event is leased (OUT-5), 2 to 3,600; the bus may use half of this time. Default: 60. */
  leaseSeconds: { key: "relay_lease", kind: k.withDefault(k.number({ min: 2, max: 3600 }), 60) },
  /** Number of attempts before an event is dead, 1 to 1,000; a bus outage makes no event dead. Default: 20. */
  maxAttempts: { key: "relay_max_attempts", kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 20) },
  /** Days after which published events are deleted, checked once an hour; 0 keeps them. Default: 7. */
  purgeAfterDays: { key: "outbox_retention_days", kind: k.withDefault(k.number({ min: 0, max: 3660 }), 7) },
  /** Time limit for one call to the bus, in milliseconds. Default: 10,000, but at most a quarter of the lease. */
  busTimeoutMs: { kind: deadline },
  /** Time limit for one transaction, in milliseconds. Default: 10,000. */
  commandTimeoutMs: { kind: deadline },
  /** Logger for dead events and for bus or database failures. Default: none. */
  logger: { kind: logger },
  /** Receives `relayed`, `failed`, `dead`, `lost`, `purged` and `fault`, for metrics. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: RelayEvent) => void>()) },
});

/** Options of {@link createRelay}. */
export type RelayOptions = OptionsOf<typeof relayOptions>;
