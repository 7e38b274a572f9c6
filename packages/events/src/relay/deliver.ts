import { withDeadline } from "@svc/resilience";
import type { EventBus } from "../event-bus.ts";
import type { OutgoingEvent } from "./outgoing-event.ts";

/** An event that could not be sent. */
export interface Failure {
  readonly event: OutgoingEvent;
  readonly error: unknown;
  /** Whether a retry is useless. */
  readonly permanent: boolean;
}

/** The results of sending several events. */
export interface SendResult {
  readonly sent: readonly OutgoingEvent[];
  readonly failed: readonly Failure[];
  /** Not tried: an earlier event of the same key failed, or the time was over. */
  readonly skipped: readonly OutgoingEvent[];
  /** Whether the bus was unavailable; then no event counts as failed by its own fault. */
  readonly away: boolean;
}

/** Deadlines in milliseconds. */
export interface Deadlines {
  readonly callMs: number;
  readonly allMs: number;
}

const CHECK_MS = 2000;
const MAX_FAILURES = 5;

/**
 * Sends events in one call. When that fails and the bus is available, sends them one by one to find the failing ones,
 * and skips later events of a failed key. An event may be sent twice, but the order of a key is kept. Ends in bounded
 * time.
 */
export async function deliver(
  bus: EventBus | undefined,
  events: readonly OutgoingEvent[],
  { callMs, allMs }: Deadlines,
): Promise<SendResult> {
  if (bus === undefined || events.length === 0) return { sent: events, failed: [], skipped: [], away: false };
  const endsAt = performance.now() + allMs;
  const sent: OutgoingEvent[] = [];
  const failed: Failure[] = [];
  const skipped: OutgoingEvent[] = [];
  const blockedKeys = new Set<string>();
  const send = (batch: readonly OutgoingEvent[]): Promise<void> =>
    withDeadline(Math.min(callMs, endsAt - performance.now()), (signal) =>
      bus.publish(
        batch.map(({ message }) => message),
        { signal },
      ),
    );

  if (events.length > 1) {
    try {
      await send(events);
      return { sent: events, failed: [], skipped: [], away: false };
    } catch (error) {
      if (await isAway(bus)) {
        const [first, ...others] = events as [OutgoingEvent, ...OutgoingEvent[]];
        return { sent, failed: [{ event: first, error, permanent: false }], skipped: others, away: true };
      }
    }
  }

  let away = false;
  let failures = 0;
  for (const event of events) {
    const { key } = event.message;
    const isOver = performance.now() >= endsAt || failures >= MAX_FAILURES;
    if (away || isOver || (key !== null && blockedKeys.has(key))) {
      skipped.push(event);
      continue;
    }
    try {
      await send([event]);
      sent.push(event);
    } catch (error) {
      const permanent = isPermanent(error);
      failed.push({ event, error, permanent });
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

/** Whether the bus itself reports that it is unavailable. */
async function isAway(bus: EventBus): Promise<boolean> {
  try {
    return !(await withDeadline(CHECK_MS, (signal) => bus.readiness().check(signal))).healthy;
  } catch {
    return true;
  }
}
