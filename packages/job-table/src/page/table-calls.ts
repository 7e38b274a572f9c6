import { serviceUnavailable } from "@svc/problem";
import { withDeadline } from "@svc/resilience";

export type Bounded = <T>(call: () => Promise<T>) => Promise<T>;

// Maximum number of unfinished calls, including those that hang beyond their deadline.
const MAX_UNDER_WAY = 16;

/**
 * Creates a function that calls the table with a deadline. Every failure and timeout becomes a 503, with the cause only
 * in the log.
 */
export function createBounded(timeoutMs: number): Bounded {
  let underWay = 0;

  return async function bounded(call) {
    if (underWay >= MAX_UNDER_WAY) throw unavailable(undefined);
    try {
      return await withDeadline(timeoutMs, async () => {
        underWay += 1;
        try {
          return await call();
        } finally {
          underWay -= 1;
        }
      });
    } catch (error) {
      throw unavailable(error);
    }
  };
}

function unavailable(cause: unknown): Error {
  return serviceUnavailable("the job table does not answer; retry shortly", {
    code: "ERR_SVC_JOB_TABLE_UNAVAILABLE",
    retryAfterSeconds: 5,
    cause,
  });
}
