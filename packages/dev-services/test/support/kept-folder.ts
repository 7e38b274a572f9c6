import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder that outlives the servers in it. Disposing removes it. */
export function keptFolder(): AsyncDisposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "svc-kept-"));
  chmodSync(path, 0o711);
  return {
    path,
    // Retry, because a server that another process has just released may still be writing.
    [Symbol.asyncDispose]: () =>
      Promise.resolve(rmSync(path, { recursive: true, force: true, maxRetries: 12 })),
  };
}
