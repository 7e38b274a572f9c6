import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

const LOOK_MS = 20;
/** The shortest event-loop stall that makes a result count as unreliable. */
const HELD_UP_MS = 250;
const MOST_ANEW = 5;
const MOST_THROWN = 1;

/** Measures the event-loop stalls of this process. */
interface Watch {
  /** Stops measuring. Resolves with the longest stall in milliseconds, including one that lasts until this call. */
  readonly end: () => Promise<number>;
}

/** @param ask one round trip to a server, whose delays count as well */
function watchHoldUps(ask?: () => Promise<unknown>): Watch {
  let isOver = false;
  let longest = 0;
  const watching = (async () => {
    // One more round after the end, to include a stall that lasted until then.
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

/** The options of {@link unlessHeldUp}. */
interface HoldUps<T> {
  /** One round trip to a server that must not stall either. */
  readonly ask?: (() => Promise<unknown>) | undefined;
  /** The shortest stall that counts, in milliseconds. Default: 250 */
  readonly leastMs?: number | undefined;
  /** Milliseconds after which no result is repeated. Default: a minute */
  readonly mostMs?: number | undefined;
  /** Describes the result in a few words for the printed line. Default: `inspect()` */
  readonly show?: ((found: T) => string) | undefined;
  /** Receives one line for each repetition. Default: writes it to standard error */
  readonly tell?: ((line: string) => void) | undefined;
}

/**
 * Only tests of `@svc/conformance` still use this; it goes with the last of them, because it hides faults.
 *
 * Runs `find` again when this process stalled meanwhile: its result depends on time and is then unreliable. Repeats good and
 * bad results alike, because repeating only failures would hide a fault that shows now and then. Repeats at most five times
 * within a minute, and an error at most once.
 *
 * For operations of a few seconds: on a busy machine a longer one almost always contains a stall.
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
      tell(`stalled for ${Math.round(longest)} ms, repeated; ${short(what)}`);
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
