/** Callbacks that run when a connection is established or given up. */
interface Waiters {
  add(done: () => void): unknown;
  delete(done: () => void): unknown;
}

/** Resolves when the waiters are called or the signal aborts; removes its callback from both. */
export async function calledOrAborted(waiters: Waiters, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  waiters.add(done);
  signal.addEventListener("abort", done, { once: true });
  await promise;
  waiters.delete(done);
  signal.removeEventListener("abort", done);
}
