/** The number of concurrent requests. */
export const IN_FLIGHT = 32;

/**
 * Calls `one` `count` times, with {@link IN_FLIGHT} calls in flight; `lane` numbers the calls that run at the same
 * time.
 */
export async function inFlight(count: number, one: (lane: number) => Promise<void>): Promise<void> {
  let left = count;
  const run = async (_: unknown, lane: number): Promise<void> => {
    while (left-- > 0) await one(lane);
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, run));
}
