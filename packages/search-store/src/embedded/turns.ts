import { DeadlineError, withDeadline } from "@svc/resilience";
import { SearchError } from "../errors.ts";

/** Creates a first-in, first-out mutex. */
export function createTurns(waitTimeoutMs: number) {
  let last = Promise.resolve();

  return {
    /**
     * Waits for the mutex and returns the function that releases it.
     *
     * @throws SearchError `ERR_SVC_SEARCH_EMBEDDED` after waiting too long
     */
    async take(): Promise<() => void> {
      const before = last;
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      last = before.then(() => ended);
      try {
        await withDeadline(waitTimeoutMs, () => before);
      } catch (error) {
        end();
        if (!(error instanceof DeadlineError)) throw error;
        const message = `the embedded database was busy for ${waitTimeoutMs} ms: another caller holds its only connection`;
        throw new SearchError("ERR_SVC_SEARCH_EMBEDDED", message);
      }
      return end;
    },
  };
}
