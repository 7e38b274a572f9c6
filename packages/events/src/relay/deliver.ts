import type { NewJob } from "@svc/job-table";
import { withDeadline } from "@svc/resilience";
import { bodyOf } from "../envelope.ts";
import { EventError } from "../errors.ts";
import type { BusMessage, EventBus } from "../event-bus.ts";
import type { ResolvedEvents } from "../events.ts";
import type { ClaimedRow } from "../outbox/sql.ts";
import { readEnvelope } from "../read-envelope.ts";
import { subscriberJobs } from "../subscribers.ts";

/** A claimed event with its bus message and jobs. */
export interface OutgoingEvent {
  readonly row: ClaimedRow;
  /** The service that published the event. */
  readonly source: string;
  readonly message: BusMessage;
  readonly jobs: readonly NewJob[];
}

/** A claimed row that could not be delivered. */
export interface Failure {
  readonly row: ClaimedRow;
  readonly error: unknown;
  /** Whether a retry is useless. */
  readonly permanent: boolean;
}

/** The result of sending several events. */
export interface SendResult {
  readonly sent: readonly OutgoingEvent[];
  readonly failed: readonly Failure[];
  /**
   * Events that were not sent: an earlier event with the same key failed, the bus was unavailable, or a limit was
   * reached.
   */
  readonly skipped: readonly OutgoingEvent[];
  /** Whether the bus was unavailable; if so, a failure does not make an event dead. */
  readonly away: boolean;
}

const CHECK_MS = 2000;
const MAX_FAILURES = 5;

/**
 * Converts a row into the message and the jobs to send.
 *
 * @throws EventError for a row that can never be delivered
 */
export function outgoingEventOf(row: ClaimedRow, options: ResolvedEvents): OutgoingEvent {
  const { subscriptions, bus, maxEventBytes } = options;
  if (row.kind !== "event") throw invalid("a relay sends only rows of kind event; this row has another kind");
  if (row.payload === null) throw invalid("not a valid event: it is larger than maxEventBytes");
  const event = readEnvelope(row.payload);
  const mine = subscriptions.get(event.type) ?? [];
  if (mine.length === 0 && bus === undefined) {
    throw new EventError(
      "ERR_SVC_EVENT_UNDELIVERABLE",
      `cannot deliver ${JSON.stringify(event.type)}: it has no subscriber, and there is no bus`,
    );
  }
  const body = bodyOf(event);
  if (Buffer.byteLength(body) > maxEventBytes) {
    throw invalid(`not a valid event: it has more than ${maxEventBytes} bytes`);
  }
  return {
    row,
    source: event.source,
    message: { topic: row.destination, id: event.id, key: row.message_key, body },
    jobs: subscriberJobs(mine, row.destination, event),
  };
}

function invalid(message: string): EventError {
  return new EventError("ERR_SVC_EVENT_ENVELOPE", message);
}

/**
 * Sends events in one call. If that fails and the bus is available, sends them one by one to find the failing ones, and
 * skips later events with a failed key. An event may be sent twice, but the order per key is kept.
 *
 * @param callMs time limit for one call to the bus, in milliseconds
 * @param allMs milliseconds after which no further call starts
 */
export async function deliver(
  bus: EventBus | undefined,
  events: readonly OutgoingEvent[],
  { callMs, allMs }: { readonly callMs: number; readonly allMs: number },
): Promise<SendResult> {
  const all: SendResult = { sent: events, failed: [], skipped: [], away: false };
  const [first, ...others] = events;
  if (bus === undefined || first === undefined) return all;
  const endsAt = performance.now() + allMs;

  const send = (batch: readonly OutgoingEvent[]): Promise<void> => {
    const messages = batch.map(({ message }) => message);
    const ms = Math.min(callMs, endsAt - performance.now());
    return withDeadline(ms, (signal) => bus.publish(messages, { signal }));
  };

  if (others.length > 0) {
    try {
      await send(events);
      return all;
    } catch (error) {
      if (await isAway(bus)) {
        const failed = [{ row: first.row, error, permanent: false }];
        return { sent: [], failed, skipped: others, away: true };
      }
    }
  }

  const sent: OutgoingEvent[] = [];
  const failed: Failure[] = [];
  const skipped: OutgoingEvent[] = [];
  const blockedKeys = new Set<string | null>();
  let away = false;
  let failures = 0;
  for (const event of events) {
    const { key } = event.message;
    const isOver = performance.now() >= endsAt || failures >= MAX_FAILURES;
    if (away || isOver || blockedKeys.has(key)) {
      skipped.push(event);
      continue;
    }
    try {
      await send([event]);
      sent.push(event);
    } catch (error) {
      const permanent = isPermanent(error);
      failed.push({ row: event.row, error, permanent });
      if (permanent) continue;
      failures += 1;
      if (key !== null) blockedKeys.add(key);
      away = await isAway(bus);
    }
  }
  return { sent, failed, skipped, away };
}

function isPermanent(error: unknown): boolean {
  return typeof error === "object" && error !== null && (error as { permanent?: unknown }).permanent === true;
}

/** Returns whether the bus itself reports that it is unavailable. */
async function isAway(bus: EventBus): Promise<boolean> {
  try {
    return !(await withDeadline(CHECK_MS, (signal) => bus.readiness().check(signal))).healthy;
  } catch {
    return true;
  }
}
