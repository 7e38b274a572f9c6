import { UpstreamError } from "./failures.ts";

type OnEnd = (reason: unknown) => void;

/** The end of a call that comes before its response: its time limit, or the caller's signal. */
export interface CallLimit {
  /** When the call ends, on the client's clock. */
  readonly endsAt: number;
  /** Why the call ended; undefined before that. */
  readonly reason: unknown;
  /** Sets the one function that is called at the end, immediately if the end has come. */
  watch(onEnd: OnEnd | undefined): void;
  /** The same, for a call that waits and has not sent a request: `endWait()` ends it, too. */
  watchWait(onEnd: OnEnd): void;
  /** Waits, unless the call ends earlier; rejects with the reason then. */
  wait(ms: number): Promise<void>;
  /** Ends the call if it waits; does nothing while a request runs. */
  endWait(reason: Error): void;
  /** Releases the timer and the signal. */
  release(): void;
}

interface CallEnd {
  /** Time until the end, in milliseconds. */
  readonly ms: number;
  readonly endsAt: number;
  /** Whether reaching the end counts as a failure of the upstream: not for a limit of the caller. */
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
