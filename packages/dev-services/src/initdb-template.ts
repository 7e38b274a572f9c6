import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the path of the data folder that the servers of a test run copy: a run starts dozens of servers, and initdb takes
 * half a second of CPU time. Undefined outside `npm test`, for a server with a password, and on systems without `cp`.
 *
 * @param content what determines the content of the folder: the programs and the arguments of initdb
 */
export function templatePath(
  { password }: { readonly password?: string | undefined },
  content: readonly string[],
): string | undefined {
  const run = process.env.SVC_TEST_RUN ?? "";
  const isSuitable = password === undefined && process.platform !== "win32";
  if (!isSuitable || run === "" || !existsSync(run)) return undefined;
  const name = createHash("sha256").update(content.join("\0")).digest("hex").slice(0, 12);
  return join(run, `initdb-${name}`);
}

/** Copies the content of a folder, with its owner. A failure removes the copy. */
export function copyData(from: string, to: string): void {
  const { status, error, stderr } = spawnSync("cp", ["-a", `${from}/.`, to], { encoding: "utf8" });
  if (status === 0) return;
  remove(to);
  throw new Error(`${from} could not be copied to ${to}: ${error?.message ?? stderr.trim()}`);
}

/** Removes a folder; ignores one that belongs to another user. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Ignore: the folder belongs to another user.
  }
}

/** Keeps a copy of a new data folder. */
export function keepTemplate(data: string, template: string): void {
  const partial = `${template}.${process.pid}`;
  try {
    copyData(data, partial);
    renameSync(partial, template);
  } catch {
    // Ignore: another process has already made the template, or the folder is not writable and the next server runs initdb.
    remove(partial);
  }
}
