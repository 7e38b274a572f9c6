import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Fault } from "@svc/options";

/**
 * Returns the absolute path of the folder of public files, or a fault if the given folder does not exist. A relative path
 * is resolved from the working directory, like that of the TOML file.
 *
 * @param given default: `public`, if this folder exists
 */
export function publicFolderOf(given: string | URL | undefined): {
  readonly folder?: string;
  readonly fault?: Fault;
} {
  const folder = given instanceof URL ? pathOfUrl(given) : resolve(given ?? "public");
  if (folder !== undefined && isFolder(folder)) return { folder };
  if (given === undefined) return {};
  const message = `must be an existing folder, as a path or a file: URL; it is "${String(given)}"`;
  return { fault: { key: "publicDir", message } };
}

function pathOfUrl(url: URL): string | undefined {
  return url.protocol === "file:" ? fileURLToPath(url) : undefined;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
