/** What a promise rejects with; fails when it does not reject. */
export async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error(`something that is no error was thrown: ${String(error)}`, { cause: error });
  }
  throw new Error("nothing was thrown");
}
