/** As many requests as are under way at a time. */
export const IN_FLIGHT = 32;

/** Does one thing `count` times, {@link IN_FLIGHT} of them at a time; each lane has its number. */
export async function inFlight(count: number, one: (lane: number) => Promise<void>): Promise<void> {
  let left = count;
  const run = async (_: unknown, lane: number): Promise<void> => {
    while (left-- > 0) await one(lane);
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, run));
}
