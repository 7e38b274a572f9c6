/** What is in use after a collection, in bytes. The process needs `--expose-gc`. */
export async function memoryBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("start it with --expose-gc");
  // What a finalizer gives up is collected by the next one.
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
