import { checkFunction, checkNames, OptionError } from "./options.ts";

/** Thrown when the deadline passes before the work is done. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly code = "ERR_SVC_DEADLINE";
  /** The time limit in milliseconds. */
  readonly ms: number;

  constructor(ms: number) {
    super(`no result within ${Math.round(ms)} ms`);
    this.ms = ms;
  }
}

export interface DeadlineOptions {
  /** Ends the wait when it aborts before the deadline: the promise rejects with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called once at the deadline, before the rejection; an error that it throws replaces the DeadlineError. Default: none. */
  readonly onTimeout?: (() => void) | undefined;
}

// setTimeout() fires immediately for a longer delay.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for `run` for at most `ms` milliseconds. At the deadline the signal aborts and the promise rejects, even if `run`
 * ignores the signal. A later result or rejection of `run` is ignored. With `ms` <= 0, `run` is not called.
 *
 * The timer keeps the process alive until `run` settles or the deadline passes: a process that waits for a hung call
 * reports the error instead of exiting silently.
 *
 * @throws DeadlineError at the deadline
 * @throws the reason of `signal` when it aborts first
 * @throws OptionError
 */
export async function withDeadline<T>(
  ms: number,
  run: (signal: AbortSignal) => T | Promise<T>,
  options: DeadlineOptions = {},
): Promise<T> {
  const subject = "withDeadline()";
  if (typeof ms !== "number" || Number.isNaN(ms)) {
    throw new OptionError(`${subject}: ms must be a number; it is ${String(ms)}`);
  }
  checkNames(subject, options, ["signal", "onTimeout"]);
  checkFunction(subject, "onTimeout", options.onTimeout);
  const { signal: outer, onTimeout } = options;
  outer?.throwIfAborted();
  if (ms <= 0) {
    onTimeout?.();
    throw new DeadlineError(ms);
  }

  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const end = (reason: unknown): void => {
      release();
      controller.abort(reason);
      reject(reason);
    };
    const timeUp = (): void => {
      try {
        onTimeout?.();
      } catch (error) {
        // An error thrown from a timer would end the process and never settle the promise.
        end(error);
        return;
      }
      end(new DeadlineError(ms));
    };
    const aborted = (): void => end(outer?.reason);
    const release = (): void => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", aborted);
    };
    const timer = setTimeout(timeUp, Math.min(ms, LONGEST_TIMER_MS));
    outer?.addEventListener("abort", aborted, { once: true });
    // Handle a rejection even after the deadline, so that it is not reported as unhandled.
    started(run, controller.signal).then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

async function started<T>(run: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<T> {
  return run(signal);
}

/**
 * Waits for a promise for at most `ms` milliseconds. Returns whether the promise resolved in that time; rejects if the
 * promise rejects.
 */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS), false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns whether a value is a promise or another object with a `then` method; other values need no deadline. */
export function isThenable<T>(value: T | PromiseLike<T>): value is Promise<T> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}
