/** Tells relays of this process that something was written, so that it does not wait for their next look. */
export interface Bell {
  /** `later`: it was written in a transaction, which is about to be committed. */
  ring(options: { readonly later: boolean }): void;
  /** Answers how to stop listening. */
  onRing(listener: () => void): () => void;
}

// Most transactions are committed at the first, nearly all at the second; what is not is found at the next look.
const LATER_MS = [20, 300];

export function createBell(): Bell {
  const listeners = new Set<() => void>();
  const timers = new Map<number, NodeJS.Timeout>();

  function strike(): void {
    for (const listener of listeners) listener();
  }

  function strikeIn(ms: number): void {
    if (timers.has(ms)) return;
    const timer = setTimeout(() => {
      timers.delete(ms);
      strike();
    }, ms);
    timers.set(ms, timer.unref());
  }

  return {
    ring({ later }) {
      if (listeners.size === 0) return;
      if (!later) strike();
      else for (const ms of LATER_MS) strikeIn(ms);
    },
    onRing(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
