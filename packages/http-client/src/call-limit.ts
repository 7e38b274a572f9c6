import { UpstreamError } from "./failures.ts";

type OnEnd = (reason: unknown) => void;

/** The limits of a call, which may end it before its response arrives: its time limit and the caller's signal. */
export interface CallLimit {
  /** Time at which the call ends, on the client's clock. */
  readonly endsAt: number;
  /** The reason why the call ended; undefined before that. */
  readonly reason: unknown;
  /** Sets the one function to call when the call ends; calls it immediately if the call has already ended. */
  watch(onEnd: OnEnd | undefined): void;
  /** Does the same for a call that waits and has sent no request; `endWait()` ends such a call too. */
  watchWait(onEnd: OnEnd): void;
  /** Waits for `ms` milliseconds. Rejects with the reason if the call ends earlier. */
  wait(ms: number): Promise<void>;
  /** Ends the call if it is waiting; does nothing while a request is running. */
  endWait(reason: Error): void;
  /** Releases the timer and the signal. */
  release(): void;
}

interface CallEnd {
  /** Time until the call ends, in milliseconds. */
  readonly ms: number;
  readonly endsAt: number;
  /** Whether the end counts as a failure of the upstream: false for a limit that the caller has set. */
  readonly countsAsFailure: boolean;
}

export function createCallLimit(
  { ms, endsAt, countsAsFailure }: CallEnd,
  signal: AbortSignal | undefined,
): CallLimit {
  let reason: unknown;
  let listener: OnEnd | undefined;
  let isWaiting = false;
  const end = (error: unknown): void => {
    release();
    reason = error;
    listener?.(error);
  };
  const aborted = (): void => end(signal?.reason);
  const timer = setTimeout(() => {
    const fault = countsAsFailure ? "connection" : "limit";
    end(new UpstreamError("timeout", "no response within the time limit of the call", { fault }));
  }, ms);
  function release(): void {
    clearTimeout(timer);
    signal?.removeEventListener("abort", aborted);
  }
  if (signal?.aborted === true) aborted();
  else signal?.addEventListener("abort", aborted, { once: true });

  function watch(onEnd: OnEnd | undefined, waits: boolean): void {
    listener = onEnd;
    isWaiting = waits;
    if (reason !== undefined) onEnd?.(reason);
  }

  return {
    endsAt,
    get reason() {
      return reason;
    },
    watch: (onEnd) => watch(onEnd, false),
    watchWait: (onEnd) => watch(onEnd, true),
    wait(delayMs) {
      return new Promise((resolve, reject) => {
        const over = setTimeout(() => {
          watch(undefined, false);
          resolve();
        }, delayMs);
        watch((error) => {
          clearTimeout(over);
          reject(error as Error);
        }, true);
      });
    },
    endWait(error) {
      if (isWaiting) end(error);
    },
    release,
  };
}
