/** Pseudorandom choices, equal for equal seeds. */
export interface Random {
  /** Returns an integer from 0 to `below` - 1. */
  whole(below: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  // The generator is mulberry32.
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return {
    whole,
    chance: (share) => next() < share,
    pick(values) {
      if (values.length === 0) throw new Error("nothing to pick from");
      return values[whole(values.length)] as (typeof values)[number];
    },
  };
}
