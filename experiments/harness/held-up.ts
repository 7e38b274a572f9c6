/** The times at which this process stood still: it had no processor. */
export interface HeldUp extends Disposable {
  /** How many milliseconds of such times lie between two moments of `performance.now()`. */
  between(from: number, to: number): number;
}

/** When something began and ended. */
export type Time = readonly [from: number, to: number];

const everyMs = 20;
/** What a busy process is late by at any time. */
const usualMs = 50;

/** Watches until it is disposed of. What it tells of a moment is known a turn of the event loop later. */
export function watchHeldUp(): HeldUp {
  const times: Time[] = [];
  let due = performance.now() + everyMs;
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - due > usualMs) times.push([due, now]);
    due = now + everyMs;
  }, everyMs).unref();
  return {
    // One that lasts until now has not been told of by the timer yet.
    between: (from, to) => sumOf([...times, [due + usualMs, performance.now()]], from, to),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** How much of these times lies between two moments. */
export function sumOf(times: readonly Time[], from: number, to: number): number {
  return times.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);
}
