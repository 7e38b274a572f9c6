import { isProblemError, serviceUnavailable } from "@svc/problem";
import { isConnectionError } from "@svc/sql";
import { SearchError } from "../errors.ts";

const RETRY_SECONDS = 5;

/** Runs an operation, and throws a 503 problem if the embedder or the database does not respond. */
export async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isProblemError(error)) throw error;
    const options = { cause: error, retryAfterSeconds: RETRY_SECONDS };
    if (error instanceof SearchError && error.code === "ERR_SVC_SEARCH_EMBED") {
      throw serviceUnavailable("the embedder does not answer", { ...options, code: error.code });
    }
    // An application's own pool throws the driver's errors.
    if (isConnectionError(error)) throw serviceUnavailable("the database does not answer", options);
    throw error;
  }
}
