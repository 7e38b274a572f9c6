import type { JobHandler, NewJob } from "@svc/job-table";
import { createHash } from "node:crypto";
import type { EventEnvelope } from "./envelope.ts";
import type { Subscription } from "./options.ts";
import { readEnvelope } from "./read-envelope.ts";

/** Attempts of a subscriber's job before it is dead. */
export const SUBSCRIBER_ATTEMPTS = 5;

const ID_LENGTH = 32;

/** Returns the id of a subscriber's job (EVT-4, EVT-5); queueing the event again yields the same job. */
export function subscriberJobId(eventId: string, task: string): string {
  return createHash("sha256").update(`${eventId}/${task}`).digest("hex").slice(0, ID_LENGTH);
}

/** Returns the jobs of an event's subscribers (EVT-3), with the event's tenant, request id and trace. */
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

/** Returns the worker handlers of the subscribers' jobs by task. */
export function subscriberHandlers(
  subscriptions: Iterable<readonly Subscription[]>,
): Readonly<Record<string, JobHandler>> {
  const handlers: Record<string, JobHandler> = {};
  for (const { task, call } of [...subscriptions].flat()) {
    handlers[task] = async (payload: { readonly event?: unknown } | null, job) => {
      await call(readEnvelope(payload?.event), job);
    };
  }
  return handlers;
}
