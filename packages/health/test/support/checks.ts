import type { CheckResult, ReadinessCheck } from "@svc/context";

/** Creates a check that always returns the same result, or the result of a function. */
export function check(
  name: string,
  critical: boolean,
  result: Partial<CheckResult> | ((signal: AbortSignal) => unknown),
): ReadinessCheck {
  return {
    name,
    critical,
    check: (signal) =>
      (typeof result === "function" ? result(signal) : { detail: "", ...result }) as CheckResult,
  };
}

/** Returns a promise and the function that resolves it. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Waits until all pending promise callbacks have run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
