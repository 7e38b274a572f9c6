import type { Logger } from "@svc/context";
import type { JobContext, JobTable } from "@svc/job-table";
import {
  ConfigurationError,
  func,
  integer,
  type Kind,
  objectWith,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { type EventEnvelope, isType } from "./envelope.ts";
import type { EventBus } from "./event-bus.ts";
import type { Outbox } from "./outbox/outbox.ts";

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

/** Options of {@link createEvents}. */
export interface EventsOptions<M> {
  /** The name of this service, the `source` of its events; 1 to 100 characters. Required. */
  readonly source: string;
  /** The result of `createJobTable()`, which queues the subscribers' jobs. Required with subscribers. */
  readonly table?: JobTable | undefined;
  /**
   * Maps each event type (EVT-10) to its named subscribers. Keep the names stable: the task is `<type>-><name>`.
   * Default: none.
   */
  readonly subscribers?: SubscribersOf<M> | undefined;
  /** The result of `createOutbox()`: events are written there and a relay sends them. Default: none. */
  readonly outbox?: Outbox | undefined;
  /** The bus to other services (EVT-2). Default: none. */
  readonly bus?: EventBus | undefined;
  /**
   * Milliseconds that the bus may take to publish without an outbox. Choose more than the bus's own `timeoutMs`, so
   * that the bus reports its own error. Default: 10,000.
   */
  readonly busTimeoutMs?: number | undefined;
  /** Prefix of the type in a topic (EVT-8), for instance `eu.`: characters of a type, at most 100. Default: `""`. */
  readonly topicPrefix?: string | undefined;
  /**
   * The longest envelope as JSON, in bytes, published or received, up to 64 MiB. A published envelope counts with its
   * numbers written out as PostgreSQL stores them. Default: 1,000,000.
   */
  readonly maxEventBytes?: number | undefined;
  /** Milliseconds that queueing a received event may take. Default: 10,000. */
  readonly receiveTimeoutMs?: number | undefined;
  /** Receives an entry for each message from the bus that is not a valid event. Default: none. */
  readonly logger?: Logger | undefined;
  /** Receives every {@link EventsEvent}, for metrics. Default: none. */
  readonly onEvent?: ((event: EventsEvent) => void) | undefined;
  /** Returns the current time in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** One subscriber and the task of its jobs. */
export interface Subscription {
  readonly task: string;
  readonly call: (event: EventEnvelope, job: JobContext) => unknown;
}

/** The options with every default filled in. */
export interface ResolvedEvents {
  readonly source: string;
  readonly table: JobTable | undefined;
  readonly subscriptions: ReadonlyMap<string, readonly Subscription[]>;
  readonly outbox: Outbox | undefined;
  readonly bus: EventBus | undefined;
  readonly busTimeoutMs: number;
  readonly topicPrefix: string;
  readonly maxEventBytes: number;
  readonly receiveTimeoutMs: number;
  readonly logger: Logger | undefined;
  readonly onEvent: ((event: EventsEvent) => void) | undefined;
  readonly now: () => number;
}

const SUBJECT = "createEvents()";
// Reject a list or a Map: a Map's entries are not properties, and list names change with the order.
const byType: Kind<object> = {
  expects: "an object with the subscribers of every type",
  accepts: (value): value is object => isRecord(value),
};
const SUBSCRIBER = /^[A-Za-z0-9_.-]{1,50}$/;

/** @throws ConfigurationError */
export function resolveEventsOptions<M>(given: EventsOptions<M>): ResolvedEvents {
  const { subscribers, ...resolved } = resolveOptions(SUBJECT, given, {
    source: string({ pattern: /^[ -~]{1,100}$/, expects: "1 to 100 visible characters" }),
    table: optional(objectWith<JobTable>("a job table", "enqueueMany", "readiness")),
    subscribers: withDefault(byType, {}),
    outbox: optional(objectWith<Outbox>("an outbox", "add", "readiness")),
    bus: optional(objectWith<EventBus>("an event bus", "publish", "consume")),
    busTimeoutMs: withDefault(integer({ min: 10, max: 600_000 }), 10_000),
    topicPrefix: withDefault(
      string({
        allowEmpty: true,
        pattern: /^(?=.{0,100}$)(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*$/,
        expects:
          "words of letters, digits, _ and - with dots between them or at the end, at most 100 characters",
      }),
      "",
    ),
    maxEventBytes: withDefault(integer({ min: 256, max: 64 * 2 ** 20 }), 1_000_000),
    receiveTimeoutMs: withDefault(integer({ min: 10, max: 600_000 }), 10_000),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    onEvent: optional(func<(event: EventsEvent) => void>()),
    now: withDefault(func<() => number>(), Date.now),
  });
  const subscriptions = subscriptionsOf(subscribers);
  if (subscriptions.size > 0 && resolved.table === undefined) {
    throw fault("table", "is required where there are subscribers: their jobs are queued in it");
  }
  return { ...resolved, subscriptions };
}

function subscriptionsOf(given: object): ReadonlyMap<string, readonly Subscription[]> {
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
    const all = faults.map((message) => ({ key: "subscribers", message }));
    throw new ConfigurationError(SUBJECT, all);
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

function fault(key: string, message: string): ConfigurationError {
  return new ConfigurationError(SUBJECT, [{ key, message }]);
}
