import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs a file of this folder in its own process, and returns its JSON output. */
export async function runFile<T>(
  file: string,
  args: readonly string[],
  nodeFlags: readonly string[] = [],
): Promise<T> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@svc/source", ...nodeFlags, path, ...args],
    { env: { ...process.env, NODE_ENV: "production" } },
  );
  return JSON.parse(stdout) as T;
}
