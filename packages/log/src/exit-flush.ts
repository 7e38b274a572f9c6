/** Something that still holds lines when the process ends. */
export interface Unwritten {
  /** Writes what it holds, waiting for a slow reader for a bounded time. */
  drain(): void;
}

const unwritten = new Set<Unwritten>();
let listening = false;
let exiting = false;

/** Whether the process is ending: from then on nothing that is put off would ever be done. */
export function isExiting(): boolean {
  return exiting;
}

/** Has `holder` drained when the process ends, until `release`. */
export function hold(holder: Unwritten): void {
  if (!listening) {
    listening = true;
    process.on("exit", drainAll);
  }
  unwritten.add(holder);
}

/** Takes `holder` off again; it has nothing left to write. */
export function release(holder: Unwritten): void {
  unwritten.delete(holder);
}

function drainAll(): void {
  exiting = true;
  for (const holder of unwritten) holder.drain();
}
