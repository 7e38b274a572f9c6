/** Returns the rejection reason of a promise; throws when it resolves. */
export async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error(`a value that is not an Error was thrown: ${String(error)}`, { cause: error });
  }
  throw new Error("nothing was thrown");
}
