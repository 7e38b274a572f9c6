import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder whose content survives servers; leaving the block removes it. */
export function keptFolder(): AsyncDisposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "svc-kept-"));
  chmodSync(path, 0o711);
  return {
    path,
    // A server that another one has just let go of may still be writing.
    [Symbol.asyncDispose]: () =>
      Promise.resolve(rmSync(path, { recursive: true, force: true, maxRetries: 12 })),
  };
}
