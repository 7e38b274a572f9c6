/**
 * Returns how many times longer work takes for a size that is 16 times as large: about 16 if the time is proportional to
 * the size, about 256 if it is quadratic. Compares the shortest of several runs, which a busy machine does not lengthen.
 */
export function growth(work: (size: number) => void, size: number): number {
  const shortest = (each: number, runs: number): number =>
    Math.min(
      ...Array.from({ length: runs }, () => {
        const began = performance.now();
        work(each);
        return performance.now() - began;
      }),
    );
  const small = shortest(size, 20);
  return shortest(16 * size, 8) / small;
}
