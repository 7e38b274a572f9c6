import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

const LOOK_MS = 20;
/** So long nothing at all went on in this process: deadlines passed that nobody has missed. */
const HELD_UP_MS = 250;
const MOST_ANEW = 5;
const MOST_THROWN = 1;

/** Watches whether this process gets its turn. */
export interface Watch {
  /** How long nothing went on at a time at the most, what went on just now included. Ends the watch. */
  readonly end: () => Promise<number>;
}

/** @param ask one round trip to a server, which is watched as well then */
export function watchHoldUps(ask?: () => Promise<unknown>): Watch {
  let isOver = false;
  let longest = 0;
  const watching = (async () => {
    // One look more when it is over: what held this process up to the very end shows in that.
    for (let last = performance.now(); !isOver;) {
      await sleep(LOOK_MS, undefined, { ref: false });
      await ask?.();
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest;
  })();
  watching.catch(() => undefined);
  return {
    end() {
      isOver = true;
      return watching;
    },
  };
}

/** What counts as a hold-up, and who is told of it. */
export interface HoldUps<T> {
  /** One round trip to a server that must not be held up either. */
  readonly ask?: (() => Promise<unknown>) | undefined;
  /** From so long on. Default: 250 */
  readonly leastMs?: number | undefined;
  /** After which nothing is found out anew. Default: a minute */
  readonly mostMs?: number | undefined;
  /** What was found, in a few words for that line. Default: as `inspect()` does */
  readonly show?: ((found: T) => string) | undefined;
  /** Is given one line for each time. Default: writes it to standard error */
  readonly tell?: ((line: string) => void) | undefined;
}

/**
 * What is found out by something that goes by the time while this process runs beside it. What was found while the machine held
 * this process up does not stand, be it good or bad, and is found out anew, five times at most and for a minute: thrown away for
 * being bad alone, a fault that shows now and then would hardly show at all. An error is thrown away once at most.
 *
 * Is for what takes a few seconds: on a busy machine there is always a hold-up in something long.
 */
export async function unlessHeldUp<T>(
  find: () => Promise<T>,
  { ask, leastMs = HELD_UP_MS, mostMs = 60_000, show = inspected, tell = writeLine }: HoldUps<T> = {},
): Promise<T> {
  const began = performance.now();
  for (let before = 0, thrown = 0; ; before++) {
    const watch = watchHoldUps(ask);
    const [found] = await Promise.allSettled([find()]);
    const longest = await watch.end();
    const isError = found.status === "rejected";
    const mayBeAnew = before < MOST_ANEW && performance.now() - began < mostMs;
    if (longest >= leastMs && mayBeAnew && !(isError && thrown >= MOST_THROWN)) {
      if (isError) thrown++;
      const what = isError ? `thrown: ${String(found.reason)}` : `found: ${show(found.value)}`;
      tell(`held up for ${Math.round(longest)} ms, found out anew; ${short(what)}`);
      continue;
    }
    if (isError) throw found.reason;
    return found.value;
  }
}

function inspected(found: unknown): string {
  return inspect(found, { depth: 1, breakLength: Infinity, maxArrayLength: 5, maxStringLength: 100 });
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function writeLine(line: string): void {
  process.stderr.write(`      ${line}\n`);
}
