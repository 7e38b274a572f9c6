import { inSpan, type SpanAttributes, type SpanHook } from "@svc/context";
import type { JobContext, JobHandler, NewJob } from "@svc/job-table";
import { ConfigurationError, type Names } from "@svc/options";
import { createHash } from "node:crypto";
import type { EventEnvelope } from "./envelope.ts";
import { readEnvelope } from "./read-envelope.ts";
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

/** One subscriber and the task of its jobs. */
export interface Subscription {
  readonly task: string;
  readonly call: (event: EventEnvelope, job: JobContext) => unknown;
}

/** Number of attempts before a subscriber's job is dead. */
export const SUBSCRIBER_ATTEMPTS = 5;

const SUBSCRIBER = /^[A-Za-z0-9_.-]{1,50}$/;
const ID_LENGTH = 32;

/** Checks the option `subscribers` and returns the subscriptions of each type. @throws ConfigurationError */
export function subscriptionsOf(given: object, names: Names): ReadonlyMap<string, readonly Subscription[]> {
  const subscriptions = new Map<string, readonly Subscription[]>();
  const faults: string[] = [];
  for (const [type, named] of Object.entries(given) as [string, unknown][]) {
    const shown = JSON.stringify(type.slice(0, 80));
    if (!isType(type))
      faults.push(`${shown} is not an event type: use words of letters, digits, _ and -, separated by dots`);
    else if (named === undefined) continue;
    else if (!isRecord(named)) {
      faults.push(`${shown} must be an object of subscribers by name`);
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
  if (!SUBSCRIBER.test(name))
    return [`a subscriber name of ${type} must be 1 to 50 letters, digits, ., _ or -`];
  return isHandler(handler) ? [] : [`the subscriber ${name} of ${type} must be a function`];
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(Symbol.iterator in value);
}

function isHandler(value: unknown): value is Subscription["call"] {
  return typeof value === "function";
}

/** Returns the id of a subscriber's job (EVT-4, EVT-5). It is the same each time the event is queued. */
export function subscriberJobId(eventId: string, task: string): string {
  return createHash("sha256").update(`${eventId}/${task}`).digest("hex").slice(0, ID_LENGTH);
}

/** Returns the jobs for an event's subscribers (EVT-3), with the event's tenant, request id and trace. */
export function subscriberJobs(
  subscriptions: readonly Subscription[],
  topic: string,
  event: EventEnvelope,
): NewJob[] {
  const { traceparent, tracestate } = event.trace;
  return subscriptions.map(({ task }) => ({
    id: subscriberJobId(event.id, task),
    task,
    payload: { topic, event },
    maxAttempts: SUBSCRIBER_ATTEMPTS,
    requestId: event.request_id,
    tenantId: event.tenant_id === "" ? null : event.tenant_id,
    trace: traceparent === undefined ? null : { traceparent, tracestate },
  }));
}

/** Maps the subscribers' tasks to handlers for a worker. */
export function subscriberHandlers(
  subscriptions: Iterable<readonly Subscription[]>,
  span: SpanHook | undefined,
): Readonly<Record<string, JobHandler>> {
  const handlers: Record<string, JobHandler> = {};
  for (const { task, call } of [...subscriptions].flat()) {
    handlers[task] = async (payload: { readonly event?: unknown } | null, job) => {
      const event = readEnvelope(payload?.event);
      await inSpan(span, `event ${event.type}`, "consumer", spanAttributes(event, job), async () =>
        call(event, job),
      );
    };
  }
  return handlers;
}

function spanAttributes({ id, type }: EventEnvelope, { attempts }: JobContext): SpanAttributes {
  return {
    "messaging.system": "svc_jobs",
    "messaging.destination.name": type,
    "messaging.message.id": id,
    "svc.job.attempts": attempts,
  };
}
