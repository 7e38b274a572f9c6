import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EmbeddedDatabase } from "../pglite.ts";

/** An embedded database in a folder. */
export interface OpenedFolder {
  readonly db: EmbeddedDatabase;
  close(): Promise<void>;
}

/**
 * Opens an embedded database in a folder, which only this user may read. The files of a new one are made in a child
 * process.
 *
 * @throws as `openEmbedded()`; the reason of the signal
 */
export async function openFolder(dataDir: string, signal: AbortSignal): Promise<OpenedFolder> {
  const { openEmbedded } = await import("../pglite.ts");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (!existsSync(join(dataDir, "PG_VERSION"))) await makeFiles(dataDir, signal);
  signal.throwIfAborted();
  const db = await openEmbedded({ dataDir });
  return { db, close: () => db.close() };
}

/**
 * Makes the files of a database in a child process, because the work blocks for many seconds, during which this process
 * could neither answer requests nor stop. Errors other than the signal's reason appear when the folder is opened.
 */
async function makeFiles(dataDir: string, signal: AbortSignal): Promise<void> {
  const program = fileURLToPath(new URL(`make-files${extname(import.meta.url)}`, import.meta.url));
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
}
