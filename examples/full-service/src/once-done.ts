/** Returns a function that runs `run` until it has succeeded once; concurrent calls share one run. */
export function onceDone(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= run().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
