import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Returns the URL of a file of another checkout of this repository.
 *
 * @throws Error when the directory is not a checkout with installed dependencies
 */
export function fileOfCheckout(directory: string, file: string): URL {
  const path = resolve(directory, file);
  if (!existsSync(path) || !existsSync(resolve(directory, "node_modules"))) {
    throw new Error(`--base must be a checkout of this repository after npm ci; it is ${directory}`);
  }
  return pathToFileURL(path);
}
