import { type Member, startCrew } from "../harness/crew.ts";
import type { Samples } from "../harness/figures.ts";
import type { Case } from "../harness/subject.ts";

/** The duration of a run. */
export interface Effort {
  readonly rounds: number;
  /** Milliseconds of work before the first round, and in a slice. */
  readonly warmUpMs: number;
  readonly sliceMs: number;
}

export const fullEffort: Effort = { rounds: 31, warmUpMs: 1500, sliceMs: 120 };
export const quickEffort: Effort = { rounds: 5, warmUpMs: 300, sliceMs: 40 };

/** CPU time and wall-clock time of one piece of work in microseconds, one measurement per round. */
export interface Times {
  readonly cpu: Samples;
  readonly wall: Samples;
}

interface Slice {
  readonly member: Member;
  readonly count: number;
  readonly cpu: number[];
  readonly wall: number[];
}

// This number of pieces of work keeps all lanes busy for most of a slice.
const FEWEST = 128;

/** Measures cases side by side, each in its own process: one case at a time, in reverse order in every second round. */
export async function measureTimes(
  cases: readonly Case[],
  effort: Effort,
): Promise<ReadonlyMap<string, Times>> {
  await using crew = await startCrew(cases);
  const slices: Slice[] = [];
  for (const member of crew.members) slices.push(await prepare(member, effort));
  for (let round = 1; round <= effort.rounds; round++) {
    for (const { member, count, cpu, wall } of round % 2 === 0 ? slices.toReversed() : slices) {
      const { cpuUs, wallUs } = await member.time(count);
      cpu.push(cpuUs);
      wall.push(wallUs);
    }
  }
  return new Map(slices.map(({ member, cpu, wall }) => [member.name, { cpu, wall }]));
}

async function prepare(member: Member, { warmUpMs, sliceMs }: Effort): Promise<Slice> {
  let took = 0;
  let each = Infinity;
  while (took < warmUpMs * 1000) {
    each = (await member.time(FEWEST)).wallUs;
    took += each * FEWEST;
  }
  return { member, count: Math.max(FEWEST, Math.round((sliceMs * 1000) / each)), cpu: [], wall: [] };
}
