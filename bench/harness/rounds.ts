import { startCrew, type Member } from "./crew.ts";
import { type Samples, summarise } from "./figures.ts";
import type { Case } from "./subject.ts";

/** The amount of work in a run: its rounds, and the size of its slices. */
export interface Effort {
  readonly rounds: number;
  /**
   * Number of processes that each case gets, one after another; they share the rounds. Default: 1. Each process starts with
   * its own heap and compiled code, so one unlucky start does not determine the result.
   */
  readonly processes?: number;
  /** Pieces of work before the first round. */
  readonly warmUp: number;
  /** CPU time that a slice should take, in milliseconds. */
  readonly sliceMs: number;
  /** Minimum and maximum pieces of work in a slice. */
  readonly fewest: number;
  readonly most: number;
}

export const fullEffort: Effort = {
  rounds: 60,
  processes: 4,
  warmUp: 12_000,
  sliceMs: 30,
  fewest: 1_500,
  most: 3_000,
};
export const quickEffort: Effort = { rounds: 9, warmUp: 6_000, sliceMs: 10, fewest: 500, most: 1_000 };

/** The costs of each case, by name. */
export type Measured = ReadonlyMap<string, Samples>;

// A slice is repeated, at most `MOST_TRIES - 1` times, if the yardstick's slices before and after it differ by more than
// this factor. Other work on the same core of a shared machine doubles all costs for seconds or minutes, so a slice during
// which it starts or ends is useless.
const STEADY = 1.2;
const MOST_TRIES = 5;

/**
 * Measures all cases side by side. Each case has a process; these processes exist at the same time and run short slices
 * in turn, in reverse order in every second round. The speed of a shared machine changes by half within seconds, so one
 * more process of the first case is the yardstick: it runs a slice before and after every slice. If these two differ by
 * more than `STEADY`, the slice is repeated, but the last try counts in any case. The cost of the slice is divided by
 * the average of these two and multiplied by the yardstick's median cost.
 */
export async function measure(
  cases: readonly Case[],
  effort: Effort,
  progress: (round: number, rounds: number) => void = () => undefined,
): Promise<Measured> {
  const { rounds, processes = 1 } = effort;
  /** The costs of each case, as multiples of the yardstick's cost just before and after. */
  const relative = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  const lengths: number[] = [];
  let done = 0;
  for (let left = processes; left > 0; left--) {
    await using crew = await startCrew(cases[0] === undefined ? [] : [cases[0], ...cases], true);
    const all: Slice[] = [];
    for (const member of crew.members) all.push(await prepare(member, effort));
    const [yardstick, ...slices] = all;
    if (yardstick === undefined) break;
    let before = await run(yardstick);
    for (let share = Math.ceil((rounds - done) / left); share > 0; share--) {
      done++;
      for (const slice of done % 2 === 0 ? slices.toReversed() : slices) {
        let cost: number;
        let beside: readonly [before: number, after: number];
        let tries = 0;
        do {
          cost = await run(slice);
          const after = await run(yardstick);
          beside = [before, after];
          before = after;
          tries++;
        } while (!isSteady(beside) && tries < MOST_TRIES);
        const calibration = (beside[0] + beside[1]) / 2;
        relative.get(slice.member.name)?.push(cost / calibration);
        lengths.push(calibration);
      }
      progress(done, rounds);
    }
  }
  const usual = summarise(lengths).median;
  return new Map([...relative].map(([name, ratios]) => [name, ratios.map((ratio) => ratio * usual)]));
}

function isSteady(lengths: readonly number[]): boolean {
  return Math.max(...lengths) <= Math.min(...lengths) * STEADY;
}

interface Slice {
  readonly member: Member;
  readonly count: number;
}

function run({ member, count }: Slice): Promise<number> {
  return member.run(count);
}

async function prepare(member: Member, { warmUp, sliceMs, fewest, most }: Effort): Promise<Slice> {
  await member.run(warmUp);
  const costUs = await member.run(fewest);
  const count = Math.min(most, Math.max(fewest, Math.round((sliceMs * 1000) / costUs)));
  return { member, count };
}
