import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("make-embedded-files.ts", import.meta.url));

/**
 * Creates the files of an embedded database in a folder, unless they exist. A child process does this, because the work
 * blocks for many seconds, during which this process could neither answer requests nor stop.
 *
 * @throws the signal's reason; other errors are not reported until the folder is opened
 */
export async function ensureEmbeddedFiles(dataDir: string, signal: AbortSignal): Promise<void> {
  if (existsSync(join(dataDir, "PG_VERSION"))) return;
  // Drop these flags, because this process already uses the debugger's port.
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--inspect"));
  // Detached, so that Ctrl-C reaches only this process, which kills the child process when it stops.
  const maker = spawn(process.execPath, [...flags, program, dataDir], {
    detached: true,
    stdio: "ignore",
    signal,
  });
  await new Promise<void>((resolve) => {
    maker.once("close", () => resolve());
    // Wait for the end of a killed process, which may still be writing.
    maker.once("error", () => {
      if (!signal.aborted) resolve();
    });
  });
  signal.throwIfAborted();
}
