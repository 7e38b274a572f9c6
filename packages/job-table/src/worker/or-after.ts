/** Waits for a promise, but at most `ms`. */
export async function orAfter(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    // Node warns on the console about a negative timeout.
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([something, time]);
  clearTimeout(timer);
}
