/** The stalls of this process: times at which its event loop did not run. */
export interface HeldUp extends Disposable {
  /** Returns how many milliseconds of stalls lie between two moments of `performance.now()`. */
  between(from: number, to: number): number;
}

/** Start and end, by `performance.now()`. */
export type Time = readonly [from: number, to: number];

const everyMs = 20;
/** The usual delay of a timer in a busy process, in milliseconds. */
const usualMs = 50;

/** Records stalls until it is disposed of. A stall is known one turn of the event loop later. */
export function watchHeldUp(): HeldUp {
  const times: Time[] = [];
  let due = performance.now() + everyMs;
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - due > usualMs) times.push([due, now]);
    due = now + everyMs;
  }, everyMs).unref();
  return {
    // Include a stall that lasts until now: the timer has not fired yet.
    between: (from, to) => sumOf([...times, [due + usualMs, performance.now()]], from, to),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** Returns how much of these times lies between two moments. */
export function sumOf(times: readonly Time[], from: number, to: number): number {
  return times.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);
}
