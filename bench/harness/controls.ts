import { ratioOf } from "./figures.ts";
import { type Effort, type Measured, measure } from "./rounds.ts";
import type { Case } from "./subject.ts";

/** Which cases are the base itself again, and how far from 1 they may come out. */
export interface Controls {
  readonly base: string;
  readonly names: readonly string[];
}

export const controlLimits: readonly [low: number, high: number] = [0.95, 1.05];

/** A run whose controls came out too far from 1: its figures say nothing. */
export class VoidRunError extends Error {
  readonly measured: Measured;

  constructor(measured: Measured, ratios: readonly string[]) {
    super(
      `void: the base measured against itself came out at ${ratios.join(" and ")}, ` +
        `outside ${controlLimits.join(" to ")}; the machine is too busy to measure`,
    );
    this.name = "VoidRunError";
    this.measured = measured;
  }
}

/**
 * Measures, and once more with twice the rounds when the controls say that the first time is worth nothing.
 *
 * @throws VoidRunError when the second time is worth nothing either
 */
export async function measureWithControls(
  cases: readonly Case[],
  controls: Controls,
  effort: Effort,
  note: (line: string) => void,
  progress?: (round: number, rounds: number) => void,
): Promise<Measured> {
  const first = await measure(cases, effort, progress);
  const faults = faultyControls(first, controls);
  if (faults.length === 0) return first;
  note(`controls at ${faults.join(" and ")}: measuring again, with twice the rounds`);
  const second = await measure(cases, { ...effort, rounds: effort.rounds * 2 }, progress);
  const again = faultyControls(second, controls);
  if (again.length === 0) return second;
  throw new VoidRunError(second, again);
}

/** The ratios of the controls that are outside of the limits. */
export function faultyControls(measured: Measured, { base, names }: Controls): readonly string[] {
  const [low, high] = controlLimits;
  return names
    .map((name) => ratioOf(measured.get(name) ?? [], measured.get(base) ?? []))
    .filter((ratio) => !(ratio >= low && ratio <= high))
    .map((ratio) => ratio.toFixed(3));
}
