import { ratioOf } from "./figures.ts";
import { type Effort, type Measured, measure } from "./rounds.ts";
import type { Case } from "./subject.ts";

/** The base case and the names of the control cases that repeat it. */
export interface Controls {
  readonly base: string;
  readonly names: readonly string[];
}

export const controlLimits: readonly [low: number, high: number] = [0.95, 1.05];

/** Thrown when the ratio of a control is too far from 1, so that the results of the run are not usable. */
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
 * Measures the cases, and once more with twice the rounds if controls are out of range.
 *
 * @throws VoidRunError when controls are out of range the second time too
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

/** Returns the ratios of the controls that are out of range. */
export function faultyControls(measured: Measured, { base, names }: Controls): readonly string[] {
  const [low, high] = controlLimits;
  return names
    .map((name) => ratioOf(measured.get(name) ?? [], measured.get(base) ?? []))
    .filter((ratio) => !(ratio >= low && ratio <= high))
    .map((ratio) => ratio.toFixed(3));
}
