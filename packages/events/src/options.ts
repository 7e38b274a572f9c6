import type { Logger } from "@svc/context";
import type { JobContext, JobTable } from "@svc/job-table";
import {
  ConfigurationError,
  defineOptions,
  func,
  integer,
  type Kind,
  type Names,
  namesOf,
  objectWith,
  optional,
  type OptionsOf,
  string,
  withDefault,
} from "@svc/options";
import type { EventEnvelope } from "./envelope.ts";
import type { EventBus } from "./event-bus.ts";
import type { Outbox } from "./outbox/outbox.ts";
import { isType } from "./text.ts";

/** Maps each event type to the type of its `data`: `{ "expense.recorded": { id: string } }`. */
export type EventTypes<M> = { readonly [T in keyof M]: object };

// Method parameters are bivariant, so a subscriber may declare the event type that it expects.
interface Subscribers<E> {
  handle(event: E, job: JobContext): unknown;
}

/** Handles an event, as a job: when it throws, the job is retried, up to 5 attempts in total. */
export type Subscriber<E = EventEnvelope> = Subscribers<E>["handle"];

/** Maps each event type to its named subscribers. */
export type SubscribersOf<M> = {
  readonly [T in keyof M]?:
    Readonly<Record<string, Subscriber<EventEnvelope<T & string, M[T] & object>>>> | undefined;
};

/** What `onEvent` receives. */
export type EventsEvent =
  /** An event was published: queued for this many subscribers here, or written to the outbox. */
  | {
      readonly type: "published";
      readonly event: EventEnvelope;
      readonly jobs: number;
      readonly outbox: boolean;
    }
  /** An event arrived over the bus and jobs were queued; 0 jobs without a subscriber or for the service's own event. */
  | { readonly type: "received"; readonly event: EventEnvelope; readonly jobs: number; readonly own: boolean }
  /**
   * A message from the bus is not a valid event, or no job can hold it. It is dropped; a redelivery would fail again.
   */
  | { readonly type: "refused"; readonly topic: string; readonly error: unknown };

// Reject a list or a Map: a Map's entries are not properties, and list names change with the order.
const byType: Kind<object> = {
  expects: "an object with the subscribers of every type",
  accepts: (value): value is object => isRecord(value),
};
const SUBSCRIBER = /^[A-Za-z0-9_.-]{1,50}$/;

export const eventsOptions = defineOptions("createEvents()", {
  /** The name of this service, the `source` of its events; 1 to 100 characters. Required. */
  source: { kind: string({ pattern: /^[ -~]{1,100}$/, expects: "1 to 100 visible characters" }) },
  /** The result of `createJobTable()`, which queues the subscribers' jobs. Required with subscribers. */
  table: { kind: optional(objectWith<JobTable>("a job table", "enqueueMany", "readiness")) },
  /**
   * The subscribers (EVT-10): `{ [type]: { [name]: (event, job) => ... } }`. Keep the names stable: the task is
   * `<type>-><name>`. Default: none.
   */
  subscribers: { kind: withDefault(byType, {}) },
  /** The result of `createOutbox()`: events are written there and a relay sends them. Default: none. */
  outbox: { kind: optional(objectWith<Outbox>("an outbox", "add", "readiness")) },
  /** The bus to other services (EVT-2). Default: none. */
  bus: { kind: optional(objectWith<EventBus>("an event bus", "publish", "consume")) },
  /**
   * Milliseconds that the bus may take to publish without an outbox. Choose more than the bus's own `timeoutMs`, so
   * that the bus reports its own error. Default: 10,000.
   */
  busTimeoutMs: { kind: withDefault(integer({ min: 10, max: 600_000 }), 10_000) },
  /** Prefix of the type in a topic (EVT-8), for instance `eu.`: characters of a type, at most 100. Default: `""`. */
  topicPrefix: {
    key: "topic_prefix",
    kind: withDefault(
      string({
        allowEmpty: true,
        pattern: /^(?=.{0,100}$)(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*$/,
        expects:
          "words of letters, digits, _ and - with dots between them or at the end, at most 100 characters",
      }),
      "",
    ),
  },
  /**
   * The longest envelope as JSON, in bytes, published or received, up to 64 MiB. A published envelope counts with its
   * numbers written out as PostgreSQL stores them. A job table and a NATS server take 1,048,576 by default.
   * Default: 1,000,000.
   */
  maxEventBytes: {
    key: "max_event_bytes",
    kind: withDefault(integer({ min: 256, max: 64 * 2 ** 20 }), 1_000_000),
  },
  /** Milliseconds that queueing a received event may take. Default: 10,000. */
  receiveTimeoutMs: { kind: withDefault(integer({ min: 10, max: 600_000 }), 10_000) },
  /** Receives an entry for each message from the bus that is not a valid event. Default: none. */
  logger: { kind: optional(objectWith<Logger>("a logger", "info", "warn", "error")) },
  /** Receives `published`, `received` and `refused`, for metrics. Default: none. */
  onEvent: { kind: optional(func<(event: EventsEvent) => void>()) },
  /** Returns the current time in milliseconds since the Unix epoch. Default: `Date.now`. */
  now: { kind: withDefault(func<() => number>(), Date.now) },
});

type AnyEventsOptions = OptionsOf<typeof eventsOptions>;

/** Options of {@link createEvents}. */
export type EventsOptions<M> = {
  [N in keyof AnyEventsOptions]: N extends "subscribers" ? SubscribersOf<M> | undefined : AnyEventsOptions[N];
};

/** One subscriber and the task of its jobs. */
export interface Subscription {
  readonly task: string;
  readonly call: (event: EventEnvelope, job: JobContext) => unknown;
}

/** The options with every default filled in. */
export type ResolvedEvents = ReturnType<typeof resolveEventsOptions>;

/** @throws ConfigurationError */
export function resolveEventsOptions<M>(given: EventsOptions<M>) {
  const { subscribers, ...options } = eventsOptions.resolve(given);
  const names = namesOf(given, eventsOptions.subject);
  const subscriptions = subscriptionsOf(subscribers, names);
  if (subscriptions.size > 0 && options.table === undefined) {
    const message = "is required where there are subscribers: their jobs are queued in it";
    throw new ConfigurationError(names.subject, [{ key: names.of("table"), message }]);
  }
  return { ...options, subscriptions };
}

function subscriptionsOf(given: object, names: Names): ReadonlyMap<string, readonly Subscription[]> {
  const subscriptions = new Map<string, readonly Subscription[]>();
  const faults: string[] = [];
  for (const [type, named] of Object.entries(given) as [string, unknown][]) {
    const shown = JSON.stringify(type.slice(0, 80));
    if (!isType(type)) faults.push(`${shown} is not an event type such as expense.recorded`);
    else if (named === undefined) continue;
    else if (!isRecord(named)) {
      faults.push(`${shown} must be an object with subscribers by their names`);
    } else {
      const handlers = Object.entries(named) as [string, unknown][];
      faults.push(...handlers.flatMap(([name, handler]) => faultsOf(shown, name, handler)));
      const list = handlers.flatMap(([name, handler]) =>
        isHandler(handler) ? [{ task: `${type}->${name}`, call: handler.bind(named) }] : [],
      );
      if (list.length > 0) subscriptions.set(type, list);
    }
  }
  if (faults.length > 0) {
    const all = faults.map((message) => ({ key: names.of("subscribers"), message }));
    throw new ConfigurationError(names.subject, all);
  }
  return subscriptions;
}

function faultsOf(type: string, name: string, handler: unknown): readonly string[] {
  if (!SUBSCRIBER.test(name)) return [`a name of ${type} must be 1 to 50 letters, digits, ., _ or -`];
  return isHandler(handler) ? [] : [`${name} of ${type} must be a function`];
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(Symbol.iterator in value);
}

function isHandler(value: unknown): value is Subscription["call"] {
  return typeof value === "function";
}
