import type { BenchOptions } from "./bench.ts";
import { ratioOf } from "./figures.ts";
import { judged, type Verdict } from "./verdicts.ts";

/** One of several ways to do the same work. */
export interface Side<T> {
  readonly name: string;
  /** Does the work once, and returns its time in milliseconds. */
  time(task: T): Promise<number>;
}

/** The times of each side by its name, in milliseconds. */
export type Times = ReadonlyMap<string, readonly number[]>;

/** The side with which the others are compared. */
export const BASE = "by-hand";
/** The side that repeats {@link BASE}; the difference shows the noise of the machine. */
export const CONTROL = "control";
/** The range of the control's ratio. It must be narrower than the bounds. */
const RANGE: readonly [low: number, high: number] = [0.97, 1.03];

/** The sides with their own connections. Disposal closes the connections. */
export interface Sides<T> extends AsyncDisposable {
  readonly all: readonly Side<T>[];
}

/** Times the sides, and once more with twice the rounds if the control is out of range. */
export async function measureBeside<T>(
  open: () => Promise<Sides<T>>,
  tasks: readonly T[],
  rounds: number,
  { quick, note }: Pick<BenchOptions, "quick" | "note">,
): Promise<Times> {
  const first = await timeInTurn(open, tasks, rounds);
  if (quick || isSteady(first)) return first;
  note(`the control is at ${ratioTo(first, CONTROL).toFixed(3)}: measuring again, with twice the rounds`);
  return timeInTurn(open, tasks, 2 * rounds);
}

/**
 * Runs every task on all sides before the next task. In a round, each task is repeated until each side has run equally often
 * in each position, because the first side runs with cold processor caches. Every round opens new sides: equal sides that
 * kept one connection each differed by up to 4 %.
 */
export async function timeInTurn<T>(
  open: () => Promise<Sides<T>>,
  tasks: readonly T[],
  rounds: number,
): Promise<Times> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    await using sides = await open();
    // Run each task once without timing it, because new connections and new functions are slow at first.
    for (const task of tasks) for (const side of sides.all) await side.time(task);
    for (const order of ordersOf(sides.all)) {
      for (const task of tasks) {
        for (const side of order) {
          const own = times.get(side.name) ?? [];
          times.set(side.name, own);
          own.push(await side.time(task));
        }
      }
    }
  }
  return times;
}

/** Returns orders in which each side has each position equally often. */
function ordersOf<T>(sides: readonly T[]): readonly (readonly T[])[] {
  return sides.flatMap((_, first) => {
    const order = [...sides.slice(first), ...sides.slice(0, first)];
    return [order, order.toReversed()];
  });
}

/**
 * Judges the median of each side relative to that of {@link BASE}. Every verdict is void if the control is out of range.
 *
 * @param bounds the largest permitted ratios by side
 */
export function verdictsBeside(
  what: string,
  times: Times,
  bounds: Readonly<Record<string, number>>,
): readonly Verdict[] {
  const isVoid = !isSteady(times);
  const verdict = (isKept: boolean, text: string): Verdict =>
    isVoid ? { mark: "VOID", text } : judged(isKept, text);
  const shown = (name: string): string => `${what}/${name}: ${ratioTo(times, name).toFixed(3)} x ${BASE}`;
  return [
    verdict(true, `${shown(CONTROL)}, range ${RANGE.join(" to ")}`),
    ...Object.entries(bounds).map(([name, most]) =>
      verdict(ratioTo(times, name) <= most, `${shown(name)}, bound at most ${most}`),
    ),
  ];
}

function isSteady(times: Times): boolean {
  const [low, high] = RANGE;
  const ratio = ratioTo(times, CONTROL);
  return ratio >= low && ratio <= high;
}

function ratioTo(times: Times, name: string): number {
  return ratioOf(times.get(name) ?? [], times.get(BASE) ?? []);
}
