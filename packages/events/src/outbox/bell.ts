/** Wakes the relays of this process after a write, so that they do not wait for the next poll. */
export interface Bell {
  /** `later`: the write is part of a transaction that commits soon. */
  ring(options: { readonly later: boolean }): void;
  /** Adds a listener; returns the function that removes it. */
  onRing(listener: () => void): () => void;
}

// Most transactions commit before the first signal, nearly all before the second; the next poll finds the rest.
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
