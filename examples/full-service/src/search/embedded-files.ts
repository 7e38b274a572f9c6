import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("make-embedded-files.ts", import.meta.url));

/**
 * Makes the files of an embedded database where a folder has none. In a process of its own: it is many seconds of work without a break,
 * in which this one would answer nobody, and could not even be stopped.
 *
 * @throws the signal's reason; what else goes wrong is found again, and said, by whoever opens the folder
 */
export async function ensureEmbeddedFiles(dataDir: string, signal: AbortSignal): Promise<void> {
  if (existsSync(join(dataDir, "PG_VERSION"))) return;
  // A debugger's port is taken by this process.
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--inspect"));
  // Detached: a Ctrl-C is for this process, which ends the other one when it stops.
  const maker = spawn(process.execPath, [...flags, program, dataDir], {
    detached: true,
    stdio: "ignore",
    signal,
  });
  await new Promise<void>((resolve) => {
    maker.once("close", () => resolve());
    // One that is cut off is waited for: until then it may be writing.
    maker.once("error", () => {
      if (!signal.aborted) resolve();
    });
  });
  signal.throwIfAborted();
}
