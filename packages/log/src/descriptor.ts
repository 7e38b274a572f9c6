import { fstatSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Makes writes to a pipe or socket on descriptor 1 or 2 fail with EAGAIN where they would block the event loop.
 * A file or terminal never makes a writer wait for long, and stays as it is.
 */
export function makeNonBlocking(fd: number): void {
  if (!isMainThread || (fd !== 1 && fd !== 2)) return;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFIFO() && !stat.isSocket()) return;
  } catch {
    return;
  }
  // Node has no call for it; making the stream object is what switches the descriptor.
  const stream = fd === 1 ? process.stdout : process.stderr;
  // Whoever else prints to a pipe that was closed would otherwise end the process.
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}

function ignore(): void {}

const word = new Int32Array(new SharedArrayBuffer(4));

/** Waits without an event loop; only for the end of the process. */
export function sleepSync(ms: number): void {
  Atomics.wait(word, 0, 0, ms);
}
