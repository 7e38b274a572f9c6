import { isProblemError, type ProblemError } from "@svc/problem";
import { rejection } from "@svc/test-support";

/** Returns the problem that a promise rejects with. */
export async function problem(promise: Promise<unknown>): Promise<ProblemError> {
  const error = await rejection(promise);
  if (isProblemError(error)) return error;
  throw new Error("it rejected with an error that is not a ProblemError", { cause: error });
}
