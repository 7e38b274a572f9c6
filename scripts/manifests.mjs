// Completes the manifests of the published packages from their `exports` and from `repository` of the root manifest:
// node scripts/manifests.mjs. With --check, only reports the manifests that would change. With --release, also refuses a root
// manifest without `repository`, an https URL that its owner sets once.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { format, resolveConfig } from "prettier";
import { publishedManifests } from "./workspace.mjs";

const root = resolve(import.meta.dirname, "..");
const isCheck = process.argv.includes("--check");
const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const faults = faultsOfRepository();

for (const { folder, ...manifest } of faults.length > 0 ? [] : publishedManifests().values()) {
  const file = join(folder, "package.json");
  const before = readFileSync(join(root, file), "utf8");
  const options = await resolveConfig(join(root, file));
  const after = await format(JSON.stringify(completed(manifest, folder)), {
    ...options,
    parser: "json-stringify",
  });
  if (!(manifest.keywords?.length >= 3)) faults.push(`${file}: keywords must have at least three words`);
  if (after === before) continue;
  if (isCheck) faults.push(`${file}: run node scripts/manifests.mjs`);
  else writeFileSync(join(root, file), after);
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;

function faultsOfRepository() {
  if (repository === undefined) {
    const isRelease = process.argv.includes("--release");
    return isRelease
      ? ["package.json: repository is missing: set the https URL of the repository before a release"]
      : [];
  }
  const isUrl = typeof repository === "string" && /^https:\/\/[^\s/]+\/[^\s]*[^\s/]$/.test(repository);
  if (isUrl && !repository.endsWith(".git")) return [];
  return [
    "package.json: repository must be an https URL without .git, such as https://github.com/owner/name",
  ];
}

/** Returns a manifest in the order of its members, with those that this script derives. */
function completed(manifest, folder) {
  const { exports: exported, ...own } = manifest;
  for (const key of ["homepage", "bugs", "repository", "main", "types", "typesVersions"]) delete own[key];
  const derived = {
    ...(repository !== undefined && {
      homepage: `${repository}/tree/main/${folder}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: "git", url: `git+${repository}.git`, directory: folder },
    }),
    // TypeScript's resolution `node10` ignores `exports`.
    main: exported["."].default,
    types: exported["."].types,
    ...typesOfSubpaths(exported),
  };
  const order = [
    "name",
    "version",
    "description",
    "keywords",
    "homepage",
    "bugs",
    "repository",
    "license",
    "type",
  ];
  const last = ["main", "types", "exports", "typesVersions", "bin", "files"];
  const all = { ...own, exports: exported, ...derived };
  const rest = Object.keys(own).filter((key) => !order.includes(key) && !last.includes(key));
  const [early, late] = [rest.filter(isEarly), rest.filter((key) => !isEarly(key))];
  const keys = [...order, ...early, ...last, ...late].filter((key) => all[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [key, all[key]]));
}

function isEarly(key) {
  return ["sideEffects", "engines"].includes(key);
}

function typesOfSubpaths(exported) {
  const subpaths = Object.entries(exported).flatMap(([path, { types }]) =>
    path === "." || types === undefined ? [] : [[path.slice(2), [types]]],
  );
  return subpaths.length === 0 ? {} : { typesVersions: { "*": Object.fromEntries(subpaths) } };
}
