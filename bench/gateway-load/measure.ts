import type { Reading } from "./load.ts";

/** A load generator that is ready to run. */
export interface ReadyLoad {
  readonly name: string;
  run(url: string, seconds: number): Promise<Reading>;
}

/** The readings of each proxy, one per round, by load generator and proxy. */
export type Readings = ReadonlyMap<string, ReadonlyMap<string, readonly Reading[]>>;

interface Effort {
  readonly rounds: number;
  /** Duration of one run of a load generator. */
  readonly seconds: number;
}

/** Measures each proxy in turn with each load generator, in reverse order in every second round. */
export async function measure(
  targets: readonly { readonly name: string; readonly url: string }[],
  loads: readonly ReadyLoad[],
  { rounds, seconds }: Effort,
  onRound: (round: number) => void,
): Promise<Readings> {
  const readings = new Map(
    loads.map(({ name }) => [name, new Map(targets.map((target) => [target.name, [] as Reading[]]))]),
  );
  for (let round = 1; round <= rounds; round++) {
    for (const load of loads) {
      for (const { name, url } of round % 2 === 0 ? targets.toReversed() : targets)
        readings
          .get(load.name)
          ?.get(name)
          ?.push(await load.run(url, seconds));
    }
    onRound(round);
  }
  return readings;
}
