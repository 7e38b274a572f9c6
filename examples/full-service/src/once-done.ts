/** Runs it until it has succeeded once; whoever asks meanwhile waits for the same run. */
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
