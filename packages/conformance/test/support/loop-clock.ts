const TICK_MS = 10;
/** Maximum milliseconds that one turn of the event loop counts. */
const LONGEST_TURN_MS = 100;

let elapsed = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  elapsed += Math.min(now - last, LONGEST_TURN_MS);
  last = now;
}, TICK_MS).unref();

/**
 * Returns milliseconds of a clock that stands still during an event-loop stall. The services under test run in the process of the
 * kit: a stall delays both, and no duration that the kit measures may depend on it.
 */
export function loopClock(): number {
  return elapsed;
}
