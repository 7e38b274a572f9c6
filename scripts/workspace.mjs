// Reads the packages for the checks: their manifests and the imports of their sources.
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the manifests of the folders under packages/, by folder name. */
export function manifests() {
  return new Map(
    globSync("packages/*/package.json")
      .toSorted()
      .map((file) => [
        file.split(/[\\/]/)[1],
        { ...JSON.parse(readFileSync(file, "utf8")), folder: dirname(file) },
      ]),
  );
}

/** Returns the manifests of the published packages. */
export function publishedManifests() {
  return new Map([...manifests()].filter(([, manifest]) => manifest.private !== true));
}

/** Returns the packages (not node: modules, not files) that a folder's sources import, with the importing files. */
export function importedPackages(folder) {
  const found = new Map();
  for (const file of globSync(join(folder, "src/**/*.ts"))) {
    const source = readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    const pattern =
      /(?:^|\n)\s*(?:import|export)\b[^"'`;]*?from\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)|(?:^|\n)import\s+["']([^"']+)["']/g;
    for (const match of source.matchAll(pattern)) {
      const specifier = match[1] ?? match[2] ?? match[3];
      if (specifier.startsWith(".") || specifier.startsWith("node:")) continue;
      const name = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      const typeOnly = /^\s*(?:import|export)\s+type\b/.test(match[0]);
      const entry = found.get(name) ?? { files: new Set(), typeOnly: true };
      entry.files.add(file);
      entry.typeOnly &&= typeOnly;
      found.set(name, entry);
    }
  }
  return found;
}
