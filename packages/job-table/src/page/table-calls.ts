import { serviceUnavailable } from "@svc/problem";
import { withDeadline } from "@svc/resilience";

/** Asks the table, for a bounded time. */
export type Bounded = <T>(call: () => Promise<T>) => Promise<T>;

// Those that hang stay with the driver after their time was up; a page must not leave more and more of them there.
const MAX_UNDER_WAY = 16;

/** Every failure, and the end of the time, is a 503 whose cause is for the log. */
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
