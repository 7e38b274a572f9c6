// Completes the manifests of the published packages from their `exports`, and from `repository` and `funding` of the root manifest:
// node scripts/manifests.mjs. With --check, only reports the manifests that would change. With --release, also refuses a root
// manifest without `repository`, an https URL that its owner sets once.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { format, resolveConfig } from "prettier";
import { publishedManifests } from "./workspace.mjs";

const root = resolve(import.meta.dirname, "..");
const isCheck = process.argv.includes("--check");
const { repository, funding } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const faults = [...faultsOfRepository(), ...faultsOfFunding()];

for (const { folder, ...manifest } of faults.length > 0 ? [] : publishedManifests().values()) {
  const file = join(folder, "package.json");
  const before = readFileSync(join(root, file), "utf8");
  const options = await resolveConfig(join(root, file));
  const after = await format(JSON.stringify(completed(manifest, folder)), {
    ...options,
    parser: "json-stringify",
  });
  if (!(manifest.keywords?.length >= 3)) faults.push(`${file}: keywords must have at least three words`);
  faults.push(...faultsOfDependencies(manifest).map((fault) => `${file}: ${fault}`));
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

function faultsOfFunding() {
  if (funding === undefined || (typeof funding === "string" && /^https:\/\/\S+$/.test(funding))) return [];
  return ["package.json: funding must be an https URL"];
}

function faultsOfDependencies({ dependencies = {}, devDependencies = {}, ...manifest }) {
  const { peerDependencies: peers = {}, peerDependenciesMeta: meta = {} } = manifest;
  const required = Object.keys(peers).filter((name) => meta[name]?.optional !== true);
  // Most users need no types, and nearly all `@types` packages install `@types/node`: 2.7 MB, perhaps of another version.
  const types = [...Object.keys(dependencies), ...required].filter((name) => name.startsWith("@types/"));
  const own = Object.keys(peers).filter((name) => name.startsWith("@svc/"));
  return [
    ...types.map((name) => `${name} must not be a dependency; make it an optional peer dependency`),
    // Lerna changes the ranges of all dependencies except peers, and ignores peers when it chooses the packages to release.
    ...own
      .filter((name) => devDependencies[name] === undefined || !/^>=\d+\.\d+\.\d+$/.test(peers[name]))
      .map((name) => `the peer ${name} must have a range such as >=0.1.0, and be in devDependencies too`),
  ];
}

/** Returns a manifest in the order of its members, with those that this script derives. */
function completed(manifest, folder) {
  const { exports: exported, ...own } = manifest;
  for (const key of ["homepage", "bugs", "repository", "funding", "main", "types", "typesVersions"])
    delete own[key];
  const derived = {
    ...(repository !== undefined && {
      homepage: `${repository}/tree/main/${folder}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: "git", url: `git+${repository}.git`, directory: folder },
    }),
    ...(funding !== undefined && { funding }),
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
    "funding",
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
