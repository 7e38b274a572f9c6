/** Tells relays of this process that something was written, so that it does not wait for their next look. */
export interface Bell {
  /** `later`: it was written in a transaction, which is about to be committed. */
  ring(options: { readonly later: boolean }): void;
  /** Answers how to stop listening. */
  onRing(listener: () => void): () => void;
}

// What is not committed by then is found at the next look.
const LATER_MS = 20;

export function createBell(): Bell {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  function strike(): void {
    timer = undefined;
    for (const listener of listeners) listener();
  }

  return {
    ring({ later }) {
      if (listeners.size === 0) return;
      if (!later) strike();
      else timer ??= setTimeout(strike, LATER_MS).unref();
    },
    onRing(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
