import { checkFunction, checkNames, OptionError } from "./options.ts";

/** Thrown when the time was up first. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly code = "ERR_SVC_DEADLINE";
  /** The time that was allowed, in milliseconds. */
  readonly ms: number;

  constructor(ms: number) {
    super(`no result within ${Math.round(ms)} ms`);
    this.ms = ms;
  }
}

export interface DeadlineOptions {
  /** Ends the wait early, with its own reason. Default: nothing but the deadline does. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when the time is up, before the rejection; what it throws becomes the rejection. Default: nothing. */
  readonly onTimeout?: (() => void) | undefined;
}

// A longer setTimeout() would fire at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for `run` for at most `ms` milliseconds. At the deadline the signal is aborted and the promise rejects, whether
 * or not `run` listens; what `run` does later is ignored. With no time left (`ms` <= 0) `run` is not called.
 *
 * The timer keeps the process alive until it is cleared, which is when `run` settles: a process that waits for
 * something hung sees the error instead of ending without a word.
 *
 * @throws DeadlineError when the time is up
 * @throws the reason of `signal` when that was first
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
        // Thrown out of a timer it would end the process, and leave the caller waiting.
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
    // Both branches are handled here, so a result that comes too late is nobody's unhandled rejection.
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
