/** An object that may still hold lines when the process ends. */
export interface Unwritten {
  /** Writes its lines, and waits a limited time for a slow reader. */
  drain(): void;
}

const unwritten = new Set<Unwritten>();
let listening = false;
let exiting = false;

/** Returns whether the process is exiting, so that scheduled callbacks no longer run. */
export function isExiting(): boolean {
  return exiting;
}

/** Calls `holder.drain()` when the process ends, unless `release(holder)` is called first. */
export function hold(holder: Unwritten): void {
  if (!listening) {
    listening = true;
    process.on("exit", drainAll);
  }
  unwritten.add(holder);
}

/** Cancels `hold(holder)`; call it when the holder has written all its lines. */
export function release(holder: Unwritten): void {
  unwritten.delete(holder);
}

function drainAll(): void {
  exiting = true;
  for (const holder of unwritten) holder.drain();
}
