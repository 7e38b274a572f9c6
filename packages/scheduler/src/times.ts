/** The ticks of a schedule, in milliseconds since the Unix epoch. */
export interface Times {
  /** Returns the first tick after `ms`, or Infinity if no tick follows. */
  after(ms: number): number;
}

/** Returns the multiples of an interval since the Unix epoch (SCH-2), so that every process has the same ticks. */
export function intervalTimes(everyMs: number): Times {
  return { after: (ms) => (Math.floor(ms / everyMs) + 1) * everyMs };
}

const NEAR = 3;

/** Returns the newest tick after `later` and not after `until`, or undefined (SCH-5). */
export function newestOf(times: Times, later: number, until: number): number | undefined {
  // A table edited by hand may contain any time, even infinity.
  if (!(later < until)) return undefined;
  let found = times.after(Math.max(later, 0));
  if (found > until) return undefined;
  // Usually the newest tick is one of the first few; after months of one-second ticks, a binary search finds it.
  for (let steps = 0; steps < NEAR; steps++) {
    const next = times.after(found);
    if (next > until) return found;
    found = next;
  }
  let low = found;
  let high = until;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const next = times.after(middle);
    if (next > until) high = middle;
    else low = next;
  }
  return low;
}
