const TICK_MS = 10;
/** Maximum time in milliseconds that the clock advances during one turn of the event loop. */
const LONGEST_TURN_MS = 100;

let elapsed = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  elapsed += Math.min(now - last, LONGEST_TURN_MS);
  last = now;
}, TICK_MS).unref();

/**
 * Returns the time in milliseconds of a clock that stops during event-loop stalls. The services under test run in the
 * same process as the kit, so a stall delays both, and must not count in the durations that the kit measures.
 */
export function loopClock(): number {
  return elapsed;
}
