/** Returns a seeded generator of numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a random direction. */
export function direction(random: () => number, dimensions: number): number[] {
  return Array.from({ length: dimensions }, () => random() - 0.5);
}

export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, left, right] = [0, 0, 0];
  for (let n = 0; n < a.length; n++) {
    const [x, y] = [a[n] ?? 0, b[n] ?? 0];
    dot += x * y;
    left += x * x;
    right += y * y;
  }
  return dot / Math.sqrt(left * right);
}
