import { startCrew } from "./crew.ts";
import { type Samples, summarise } from "./figures.ts";
import type { Effort } from "./rounds.ts";
import type { Case } from "./subject.ts";

/**
 * Measures how many pieces of work each case completes per second of wall-clock time, on all CPUs: one case at a time, in
 * turns. The result is only informative, because it includes the time in which a case waits for other processes.
 *
 * @returns the median of the rounds, by the name of the case
 */
export async function throughputs(
  cases: readonly Case[],
  { rounds, warmUp, most }: Effort,
): Promise<ReadonlyMap<string, number>> {
  await using crew = await startCrew(cases);
  const walls = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (const member of crew.members) await member.run(warmUp);
  for (let round = 0; round < rounds; round++) {
    for (const member of round % 2 === 0 ? crew.members : crew.members.toReversed()) {
      walls.get(member.name)?.push((await member.time(most)).wallUs);
    }
  }
  const perSecond = (samples: Samples): number => 1e6 / summarise(samples).median;
  return new Map([...walls].map(([name, samples]) => [name, perSecond(samples)]));
}
