/** A pseudo-random generator that repeats its sequence for the same seed. */
export interface Random {
  /** Returns a whole number from 0 to `below` - 1. */
  whole(below: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // splitmix32 scrambles the bits of a counter. It is short, and sufficient for choosing test cases.
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return {
    whole,
    chance: (share) => next() < share,
    pick(values) {
      const value = values[whole(values.length)];
      if (value === undefined) throw new Error("nothing to pick from");
      return value;
    },
  };
}
