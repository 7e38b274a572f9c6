// Compares every package with the table of layers in docs/architecture.md, and its imports with its manifest.
import { readFileSync } from "node:fs";
import { importedPackages, publishedManifests } from "./workspace.mjs";

const faults = [];
const layers = readLayers(readFileSync("docs/architecture.md", "utf8"));

for (const [name, manifest] of publishedManifests()) {
  const layer = layers.get(name);
  if (layer === undefined) {
    faults.push(`packages/${name} is missing from the table of layers in docs/architecture.md`);
    continue;
  }
  const dependencies = Object.keys(manifest.dependencies ?? {});
  for (const dependency of dependencies.filter((each) => each.startsWith("@svc/"))) {
    const below = layers.get(dependency.slice("@svc/".length));
    if (below === undefined || below.layer >= layer.layer) {
      faults.push(
        `packages/${name} (layer ${layer.layer}) must not depend on ${dependency} (layer ${below?.layer})`,
      );
    }
  }
  const own = dependencies
    .filter((each) => each.startsWith("@svc/"))
    .map((each) => each.slice("@svc/".length));
  if (own.toSorted().join() !== layer.own.toSorted().join()) {
    faults.push(
      `packages/${name} depends on ${own.join(", ") || "nothing"}; docs/architecture.md says ${layer.own.join(", ") || "nothing"}`,
    );
  }
  const declared = new Set([...dependencies, ...Object.keys(manifest.peerDependencies ?? {})]);
  const imported = importedPackages(manifest.folder);
  for (const [imports, { files, typeOnly }] of imported) {
    if (imports === manifest.name || declared.has(imports)) continue;
    if (typeOnly && declared.has(`@types/${imports}`)) continue;
    faults.push(`${[...files].join(", ")} imports ${imports}, which package.json does not list`);
  }
  for (const dependency of declared) {
    const plain = dependency.replace(/^@types\//, "");
    if (!imported.has(plain)) faults.push(`packages/${name} lists ${dependency} and imports it nowhere`);
  }
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;

/** Returns the rows `| layer | package | question | own dependencies | ...` by package. */
function readLayers(markdown) {
  const rows = new Map();
  for (const [, layer, name, own] of markdown.matchAll(
    /^\|\s*(\d+)[^|]*\|\s*`([\w-]+)`[^|]*\|[^|]*\|([^|]*)\|/gm,
  )) {
    rows.set(name, {
      layer: Number(layer),
      own: [...own.matchAll(/[\w-]+/g)].map(([each]) => each).filter((each) => each !== "-"),
    });
  }
  return rows;
}
