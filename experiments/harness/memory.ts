/** Returns the used memory in bytes after garbage collection. The process needs `--expose-gc`. */
export async function memoryBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("start the process with --expose-gc");
  // Repeat: memory that a finalizer releases is freed only by the next collection.
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
