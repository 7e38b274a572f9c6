import type { NewJob } from "@svc/job-table";
import { bodyOf, type EventEnvelope } from "../envelope.ts";
import { EventError } from "../errors.ts";
import type { BusMessage } from "../event-bus.ts";
import type { ResolvedEvents } from "../options.ts";
import type { ClaimedRow } from "../outbox/sql.ts";
import { readEnvelope } from "../read-envelope.ts";
import { subscriberJobs } from "../subscriber-jobs.ts";

/** A claimed event with its bus message and jobs. */
export interface OutgoingEvent {
  readonly row: ClaimedRow;
  /** The service that published the event. */
  readonly source: string;
  readonly message: BusMessage;
  readonly jobs: readonly NewJob[];
}

/**
 * Converts a row into the message and the jobs to send.
 *
 * @throws EventError for a row that can never be delivered
 */
export function outgoingEventOf(row: ClaimedRow, options: ResolvedEvents): OutgoingEvent {
  if (row.kind !== "event") {
    throw new EventError(
      "ERR_SVC_EVENT_ENVELOPE",
      `a relay sends rows of the kind event; this one is another kind`,
    );
  }
  if (row.payload === null) {
    throw new EventError("ERR_SVC_EVENT_ENVELOPE", `no event: it has more than maxEventBytes`);
  }
  const event: EventEnvelope = readEnvelope(row.payload);
  const subscriptions = options.subscriptions.get(event.type) ?? [];
  if (subscriptions.length === 0 && options.bus === undefined) {
    throw new EventError(
      "ERR_SVC_EVENT_UNDELIVERABLE",
      `cannot deliver ${JSON.stringify(event.type)}: it has no subscriber, and there is no bus`,
    );
  }
  const body = bodyOf(event);
  if (Buffer.byteLength(body) > options.maxEventBytes) {
    throw new EventError(
      "ERR_SVC_EVENT_ENVELOPE",
      `no event: it has more than ${options.maxEventBytes} bytes`,
    );
  }
  return {
    row,
    source: event.source,
    message: { topic: row.destination, id: event.id, key: row.message_key, body },
    jobs: subscriberJobs(subscriptions, row.destination, event),
  };
}
