import { withDeadline } from "@svc/resilience";
import type { EventBus } from "../event-bus.ts";
import type { Parcel } from "./parcel.ts";

/** An event that could not be sent. */
export interface Failure {
  readonly parcel: Parcel;
  readonly error: unknown;
  /** Whether a retry is useless. */
  readonly permanent: boolean;
}

/** The results of sending several events. */
export interface Delivery {
  readonly sent: readonly Parcel[];
  readonly failed: readonly Failure[];
  /** Not tried: an earlier event of the same key failed, or the time was over. */
  readonly left: readonly Parcel[];
  /** Whether the bus was unavailable; then no event counts as failed by its own fault. */
  readonly away: boolean;
}

/** Deadlines in milliseconds. */
export interface Patience {
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
  parcels: readonly Parcel[],
  { callMs, allMs }: Patience,
): Promise<Delivery> {
  if (bus === undefined || parcels.length === 0) return { sent: parcels, failed: [], left: [], away: false };
  const endsAt = performance.now() + allMs;
  const sent: Parcel[] = [];
  const failed: Failure[] = [];
  const left: Parcel[] = [];
  const held = new Set<string>();
  const send = (batch: readonly Parcel[]): Promise<void> =>
    withDeadline(Math.min(callMs, endsAt - performance.now()), (signal) =>
      bus.publish(
        batch.map(({ message }) => message),
        { signal },
      ),
    );

  if (parcels.length > 1) {
    try {
      await send(parcels);
      return { sent: parcels, failed: [], left: [], away: false };
    } catch (error) {
      if (await isAway(bus)) {
        const [first, ...others] = parcels as [Parcel, ...Parcel[]];
        return { sent, failed: [{ parcel: first, error, permanent: false }], left: others, away: true };
      }
    }
  }

  let away = false;
  let failures = 0;
  for (const parcel of parcels) {
    const { key } = parcel.message;
    const late = performance.now() >= endsAt || failures >= MAX_FAILURES;
    if (away || late || (key !== null && held.has(key))) {
      left.push(parcel);
      continue;
    }
    try {
      await send([parcel]);
      sent.push(parcel);
    } catch (error) {
      const permanent = isPermanent(error);
      failed.push({ parcel, error, permanent });
      if (permanent) continue;
      failures += 1;
      if (key !== null) held.add(key);
      away = await isAway(bus);
    }
  }
  return { sent, failed, left, away };
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
