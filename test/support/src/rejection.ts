/** The error that an operation rejects with or throws; whatever members it has. */
export async function rejection(
  operation: Promise<unknown> | (() => unknown),
): Promise<Error & Readonly<Record<string, unknown>>> {
  try {
    await (typeof operation === "function" ? operation() : operation);
  } catch (error) {
    if (error instanceof Error) return error as Error & Readonly<Record<string, unknown>>;
    throw new Error("it was refused with something that is no error", { cause: error });
  }
  throw new Error("it was not refused");
}
