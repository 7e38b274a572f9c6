import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns the path of a folder that does not exist yet. When this process exits, the folder and its lock are removed. */
export function temporaryFolder(name: string): string {
  const parent = join(tmpdir(), `svc-${name}-${randomUUID()}`);
  process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
  return join(parent, "data");
}
