/** Waits for something, or as long as that. */
export async function orAfter(something: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([something, time]);
  clearTimeout(timer);
}
