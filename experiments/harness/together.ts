/** Promises of started services. An undefined element starts nothing and has the result undefined. */
type Starting<T extends readonly unknown[]> = readonly [...{ [K in keyof T]: Promise<T[K]> | undefined }];

/**
 * Returns what `Promise.all()` returns. When a start fails, first waits for the others and disposes of their services:
 * a running child process would keep this process alive.
 *
 * @throws the error of the first failed start
 */
export async function together<T extends readonly unknown[]>(starts: Starting<T>): Promise<T> {
  const all = starts.map((each) => Promise.resolve(each));
  const ended = await Promise.allSettled(all);
  const failed = ended.filter((each) => each.status === "rejected");
  if (failed.length > 0) {
    for (const each of ended) {
      if (each.status === "fulfilled" && isDisposable(each.value)) await each.value[Symbol.asyncDispose]();
    }
    throw failed[0]?.reason;
  }
  return (await Promise.all(all)) as never;
}

function isDisposable(value: unknown): value is AsyncDisposable {
  return typeof value === "object" && value !== null && Symbol.asyncDispose in value;
}
