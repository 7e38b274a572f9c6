import { accessSync, constants } from "node:fs";
import { join } from "node:path";

const SUFFIX = process.platform === "win32" ? ".exe" : "";

/** Returns the path of the first of `files` that one of these folders holds and this process may execute. */
export function firstIn(folders: readonly string[], files: readonly string[]): string | undefined {
  for (const file of files) {
    for (const folder of folders) {
      const path = join(folder, file + SUFFIX);
      if (isExecutable(path)) return path;
    }
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
