import { DeadlineError } from "@svc/resilience";

/**
 * Rejects when `result` takes longer than `ms`. Unlike `withDeadline` of `@svc/resilience` it makes no abort signal, which
 * would cost more than the check itself.
 *
 * @throws DeadlineError when the time is up
 */
export function bounded<T>(ms: number, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(ms)), ms);
    result.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error as Error);
      },
    );
  });
}
