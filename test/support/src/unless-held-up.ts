import { monitorEventLoopDelay } from "node:perf_hooks";

/** So long nothing at all went on in this process: deadlines passed that nobody has missed. */
const HELD_UP_MS = 250;
const MOST_ANEW = 5;
/** After which nothing is found out anew. */
const MOST_MS = 60_000;

/**
 * What is found out by something that goes by the time while this process runs beside it. Where the machine held this process up
 * meanwhile that says nothing, and is found out anew, five times at most and for a minute.
 *
 * @param isGood says what stands all the same: a hold-up makes nothing good. Default: nothing
 */
export async function unlessHeldUp<T>(
  find: () => Promise<T>,
  isGood: (found: T) => boolean = () => false,
): Promise<T> {
  const began = performance.now();
  for (let before = 0; ; before++) {
    const lateness = monitorEventLoopDelay({ resolution: 20 });
    lateness.enable();
    const [found] = await Promise.allSettled([find()]);
    lateness.disable();
    const mayBeAnew = before < MOST_ANEW && performance.now() - began < MOST_MS;
    const isHeldUp = lateness.max / 1e6 >= HELD_UP_MS;
    if (mayBeAnew && isHeldUp && !(found.status === "fulfilled" && isGood(found.value))) continue;
    if (found.status === "rejected") throw found.reason;
    return found.value;
  }
}
