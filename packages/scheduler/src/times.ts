/** The moments of a schedule, in milliseconds since the Unix epoch. */
export interface Times {
  /** The first one that is later; Infinity: there is none. */
  after(ms: number): number;
}

/** Multiples of an interval since the Unix epoch (SCH-2): every process counts them alike, whenever it was started. */
export function intervalTimes(everyMs: number): Times {
  return { after: (ms) => (Math.floor(ms / everyMs) + 1) * everyMs };
}

const NEAR = 3;

/** The newest moment that is later than one and not later than another; undefined: there is none (SCH-5). */
export function newestOf(times: Times, later: number, until: number): number | undefined {
  // Somebody may have written any moment into the table, infinity too.
  if (!(later < until)) return undefined;
  let found = times.after(Math.max(later, 0));
  if (found > until) return undefined;
  // Mostly it is the first one; after months of one-second ticks it is found by halves.
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
