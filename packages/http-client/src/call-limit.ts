import { UpstreamError } from "./failures.ts";

/** The end of a call that comes before its response: its time limit, or the caller's signal. */
export interface CallLimit {
  /** When the call ends, on the client's clock. */
  readonly endsAt: number;
  /** Why the call ended; undefined before that. */
  readonly reason: Error | undefined;
  /** Sets the one function that is called at the end, at once if the end has come. */
  watch(onEnd: ((reason: Error) => void) | undefined): void;
  /** Waits, unless the call ends earlier; rejects with the reason then. */
  wait(ms: number): Promise<void>;
  /** Releases the timer and the signal. */
  release(): void;
}

/** @param ms time until the end, in milliseconds */
export function createCallLimit(ms: number, endsAt: number, signal: AbortSignal | undefined): CallLimit {
  let reason: Error | undefined;
  let listener: ((reason: Error) => void) | undefined;
  const end = (error: Error): void => {
    release();
    reason = error;
    listener?.(error);
  };
  const aborted = (): void => end(signal?.reason as Error);
  const timer = setTimeout(
    () => end(new UpstreamError("timeout", "no response within the time limit of the call")),
    ms,
  );
  function release(): void {
    clearTimeout(timer);
    signal?.removeEventListener("abort", aborted);
  }
  signal?.addEventListener("abort", aborted, { once: true });

  return {
    endsAt,
    get reason() {
      return reason;
    },
    watch(onEnd) {
      listener = onEnd;
      if (reason !== undefined) onEnd?.(reason);
    },
    wait(delayMs) {
      return new Promise((resolve, reject) => {
        const over = setTimeout(() => {
          this.watch(undefined);
          resolve();
        }, delayMs);
        this.watch((error) => {
          clearTimeout(over);
          reject(error);
        });
      });
    },
    release,
  };
}
