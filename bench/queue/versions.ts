import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

/** Returns the installed version of a package. */
export function ownVersion(name: string): string {
  const file = findPackageJSON(name, import.meta.url);
  if (file === undefined) throw new Error(`${name} is not installed`);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
