import { startCrew, type Member } from "./crew.ts";
import type { Samples } from "./figures.ts";
import type { Case } from "./subject.ts";

/** The duration and the slices of a run. */
export interface Effort {
  readonly rounds: number;
  /** Pieces of work before the first round. */
  readonly warmUp: number;
  /** CPU time that a slice should take, in milliseconds. */
  readonly sliceMs: number;
  /** Minimum and maximum pieces of work in a slice. */
  readonly fewest: number;
  readonly most: number;
}

export const fullEffort: Effort = { rounds: 45, warmUp: 12_000, sliceMs: 30, fewest: 1_500, most: 3_000 };
export const quickEffort: Effort = { rounds: 9, warmUp: 6_000, sliceMs: 10, fewest: 500, most: 1_000 };

/** The costs by case. */
export type Measured = ReadonlyMap<string, Samples>;

/**
 * Measures all cases side by side. Each has a process; all processes run at the same time and get short slices in turn, in
 * reverse order in every second round. A disturbance of the machine therefore affects all cases.
 */
export async function measure(
  cases: readonly Case[],
  effort: Effort,
  progress: (round: number, rounds: number) => void = () => undefined,
): Promise<Measured> {
  await using crew = await startCrew(cases);
  const slices: Slice[] = [];
  for (const member of crew.members) slices.push(await prepare(member, effort));
  for (let round = 1; round <= effort.rounds; round++) {
    for (const slice of round % 2 === 0 ? slices.toReversed() : slices) {
      slice.samples.push(await slice.member.run(slice.count));
    }
    progress(round, effort.rounds);
  }
  return new Map(slices.map(({ member, samples }) => [member.name, samples]));
}

interface Slice {
  readonly member: Member;
  readonly count: number;
  readonly samples: number[];
}

async function prepare(member: Member, { warmUp, sliceMs, fewest, most }: Effort): Promise<Slice> {
  await member.run(warmUp);
  const costUs = await member.run(fewest);
  const count = Math.min(most, Math.max(fewest, Math.round((sliceMs * 1000) / costUs)));
  return { member, count, samples: [] };
}
