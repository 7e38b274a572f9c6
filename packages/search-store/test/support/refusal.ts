import { SearchError } from "@svc/search-store";

/** Returns the error that a call is rejected with. */
export async function refusal(call: () => Promise<unknown>): Promise<SearchError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof SearchError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}
