/** Returns the error with which an operation rejects or throws; its other properties can be read too. */
export async function rejection(
  operation: Promise<unknown> | (() => unknown),
): Promise<Error & Readonly<Record<string, unknown>>> {
  try {
    await (typeof operation === "function" ? operation() : operation);
  } catch (error) {
    if (error instanceof Error) return error as Error & Readonly<Record<string, unknown>>;
    throw new Error("the operation failed with a value that is not an Error", { cause: error });
  }
  throw new Error("the operation did not fail");
}
