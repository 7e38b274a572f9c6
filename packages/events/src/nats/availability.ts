/** Tracks whether a connection is up. Calls wait for one attempt to connect, after the start or after a loss. */
export interface Availability {
  readonly isUp: boolean;
  /** The connection is established. */
  up(): void;
  /** The connection was lost; the client reconnects. */
  lost(): void;
  /** An attempt to connect failed: calls reject at once until the connection is up. */
  failed(): void;
  /** Resolves when the connection is up. @throws the error of `away` when the first attempt failed */
  ready(): Promise<void>;
  /** Resolves when the connection is up, the signal aborts or the connection is closed. */
  reached(signal: AbortSignal): Promise<void>;
  /** Ends all waits. */
  close(): void;
}

/** @param away returns the error for a call without a connection */
export function createAvailability(away: () => Error): Availability {
  const waiters = new Set<() => void>();
  let isUp = false;
  let isFirstAttempt = true;
  let isClosed = false;

  function settle(): void {
    const all = [...waiters];
    waiters.clear();
    for (const done of all) done();
  }

  return {
    get isUp() {
      return isUp;
    },
    up() {
      isUp = true;
      isFirstAttempt = true;
      settle();
    },
    lost() {
      isUp = false;
    },
    failed() {
      isFirstAttempt = false;
      settle();
    },
    async ready() {
      if (!isUp && isFirstAttempt && !isClosed)
        await new Promise<void>((resolve) => void waiters.add(resolve));
      if (!isUp || isClosed) throw away();
    },
    async reached(signal) {
      while (!isUp && !isClosed && !signal.aborted) {
        const { promise, resolve: done } = Promise.withResolvers<void>();
        const aborted = (): void => done();
        waiters.add(done);
        signal.addEventListener("abort", aborted, { once: true });
        await promise;
        waiters.delete(done);
        signal.removeEventListener("abort", aborted);
      }
    },
    close() {
      isClosed = true;
      settle();
    },
  };
}
