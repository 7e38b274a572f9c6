import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openEmbedded } from "@svc/search-store/pglite";

/** A folder with an empty embedded database. Leaving the block removes it. */
export interface EmbeddedFolder extends Disposable {
  readonly path: string;
}

/**
 * Returns a copy of a database that is created once in `node_modules/.cache`, because creating its files takes ten
 * times as long as opening them.
 */
export async function embeddedFolder(): Promise<EmbeddedFolder> {
  const made = await template();
  const folder = mkdtempSync(join(tmpdir(), "svc-embedded-"));
  const path = join(folder, "data");
  cpSync(made, path, { recursive: true });
  return {
    path,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function template(): Promise<string> {
  const cache = fileURLToPath(new URL("../../../../node_modules/.cache/svc/", import.meta.url));
  const path = join(cache, `pglite-${versionOf("@electric-sql/pglite")}`);
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "making-"));
  try {
    const made = await openEmbedded({ dataDir: join(folder, "data") });
    await made.close();
    renameSync(join(folder, "data"), path);
  } catch (error) {
    // Another process has created it first: rename does not replace a folder with content.
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return path;
}

function versionOf(name: string): string {
  // Search from the entry point, because the package does not export package.json.
  for (let at = dirname(createRequire(import.meta.url).resolve(name)); dirname(at) !== at; at = dirname(at)) {
    const file = join(at, "package.json");
    if (!existsSync(file)) continue;
    const { name: found, version } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
    if (found === name && version !== undefined) return version;
  }
  throw new Error(`${name} is not installed`);
}
