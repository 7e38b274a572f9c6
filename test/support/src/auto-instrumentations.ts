import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const PACKAGE = "@opentelemetry/auto-instrumentations-node";
const VERSION = "0.82.0";

/** Returns the folder with the instrumentations of all packages, and downloads 131 MB with npm if it does not exist. */
export async function fetchAutoInstrumentations(note: (line: string) => void): Promise<string> {
  const folder = join(tmpdir(), `svc-auto-instrumentations-${VERSION}`);
  // npm writes this file last, so its existence shows that the installation is complete.
  if (existsSync(join(folder, "node_modules", ".package-lock.json"))) return folder;
  note(`downloading ${PACKAGE}@${VERSION} to ${folder}`);
  await mkdir(folder, { recursive: true });
  const manifest = { private: true, dependencies: { [PACKAGE]: VERSION } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    shell: process.platform === "win32",
  });
  return folder;
}
