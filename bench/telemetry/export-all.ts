import { setTimeout as delay } from "node:timers/promises";
import type { TelemetryMiddleware } from "@svc/telemetry";

// The batch size of @svc/telemetry.
const BATCH = 512;
const POLL_MS = 3;

/**
 * Returns a function that does work for requests, and waits after each batch until its spans are exported. A process that
 * never waits would drop spans, and would not pay for their export.
 *
 * @param work does the work of this number of requests with one span each
 */
export function exportingAll(
  { counts }: Pick<TelemetryMiddleware, "counts">,
  work: (count: number) => Promise<void>,
): (count: number) => Promise<void> {
  let made = 0;
  return async (count) => {
    for (let left = count; left > 0; left -= BATCH) {
      const batch = Math.min(left, BATCH);
      await work(batch);
      made += batch;
      while (made - counts().exported >= BATCH) {
        const { dropped, failedBatches } = counts();
        if (dropped > 0 || failedBatches > 0) throw new Error(`${dropped} spans were dropped`);
        await delay(POLL_MS);
      }
    }
  };
}
