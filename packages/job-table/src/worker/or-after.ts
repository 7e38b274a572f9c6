/** Waits for something, or as long as that. */
export async function orAfter(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    // Of a negative one Node warns on the console.
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([something, time]);
  clearTimeout(timer);
}
