import { fstatSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Makes writes to a pipe or socket on descriptor 1 or 2 fail with EAGAIN instead of blocking the event loop. Leaves files
 * and terminals unchanged, because they never block for long.
 */
export function makeNonBlocking(fd: number): void {
  if (!isMainThread || (fd !== 1 && fd !== 2)) return;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFIFO() && !stat.isSocket()) return;
  } catch {
    return;
  }
  // Node has no function for this, but creating the stream object makes the descriptor non-blocking.
  const stream = fd === 1 ? process.stdout : process.stderr;
  // Without a listener, other code that prints to a closed pipe would end the process.
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}

function ignore(): void {}

const word = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread for `ms` milliseconds; only for the end of the process. */
export function sleepSync(ms: number): void {
  Atomics.wait(word, 0, 0, ms);
}
