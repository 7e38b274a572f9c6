import { expect } from "chai";

/** Returns the error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { readonly code?: unknown }> {
  try {
    await promise;
  } catch (error) {
    expect(error).to.be.instanceOf(Error);
    return error as Error & { readonly code?: unknown };
  }
  throw new Error("it was not rejected");
}
