/** Wakes the relays of this process after a write, so that they do not wait for the next poll. */
export interface Wakeup {
  /** Calls the listeners. `later`: the write belongs to a transaction that has not committed yet. */
  notify(options: { readonly later: boolean }): void;
  /** Adds a listener. Returns a function that removes it. */
  onNotify(listener: () => void): () => void;
}

// Delays of the two calls after a write in a transaction. Most transactions commit before the first call, nearly all
// before the second; the next poll finds the remaining events.
const LATER_MS = [20, 300];

export function createWakeup(): Wakeup {
  const listeners = new Set<() => void>();
  const timers = new Map<number, NodeJS.Timeout>();

  function callListeners(): void {
    for (const listener of listeners) listener();
  }

  function callListenersIn(ms: number): void {
    if (timers.has(ms)) return;
    const timer = setTimeout(() => {
      timers.delete(ms);
      callListeners();
    }, ms);
    timers.set(ms, timer.unref());
  }

  return {
    notify({ later }) {
      if (listeners.size === 0) return;
      if (!later) callListeners();
      else for (const ms of LATER_MS) callListenersIn(ms);
    },
    onNotify(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
