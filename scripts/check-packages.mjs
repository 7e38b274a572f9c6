// Packs every published package once and uses the tarballs as a consumer does: publint, types, one install for each module
// system and Express major, and each package alone with only the dependencies of its manifest.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize, resolve } from "node:path";
import { faultsOfResolutions } from "./check-resolutions.mjs";
import { faultsOfRunners } from "./check-runners.mjs";
import { publishedManifests } from "./workspace.mjs";

const root = resolve(import.meta.dirname, "..");
const work = mkdtempSync(join(tmpdir(), "svc-packages-"));
const packages = publishedManifests();
const faults = [];
// A package larger than this must be reviewed for content that users do not need.
const largestTarballBytes = 65_000;
// The limits of reviewed packages: conformance contains the text of every rule, express the JSON Schema of service.toml.
const lookedAt = {
  conformance: 130_000,
  events: 97_000,
  express: 118_000,
  "job-table": 95_000,
  "jwt-auth": 84_000,
  rollups: 75_000,
  "search-store": 90_000,
};

try {
  build();
  const tarballs = pack();
  publint(tarballs);
  types(tarballs);
  faults.push(...(await faultsOfResolutions({ work, tarballs, packages, command })));
  faults.push(...faultsOfRunners({ work, tarballs, command }));
  for (const moduleSystem of ["esm", "cjs"])
    for (const major of [4, 5]) together(tarballs, moduleSystem, major);
  for (const name of packages.keys()) {
    alone(tarballs, name, "cjs", 4);
    alone(tarballs, name, "esm", 5);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
console.log(`${packages.size} packages packed, linted, type-checked and loaded; ${faults.length} faults`);
if (faults.length > 0) process.exitCode = 1;

function build() {
  command("build", "tsc", ["-b"], root);
}

/** Tarball by folder name. */
function pack() {
  const folders = [...packages.values()].map(({ folder }) => `./${folder}`);
  const { stdout } = command(
    "npm pack",
    "npm",
    ["pack", "--json", "--pack-destination", work, ...folders],
    root,
  );
  const packed = Object.values(JSON.parse(stdout));
  return new Map(
    packed.map(({ name, filename, size, files }) => {
      const folder = name.slice("@svc/".length);
      for (const wanted of ["README.md", "CHANGELOG.md", "LICENSE", "dist/index.js", "dist/index.d.ts"]) {
        if (!files.some(({ path }) => path === wanted)) faults.push(`${name}: its tarball lacks ${wanted}`);
      }
      const stray = files.find(({ path }) => /(^|\/)(test|src)\/|tsbuildinfo|\.(test|map)(\.|$)/.test(path));
      if (stray !== undefined) faults.push(`${name}: its tarball must not contain ${stray.path}`);
      for (const missing of missingDeclarations(packages.get(folder), new Set(files.map(({ path }) => path))))
        faults.push(`${name}: its tarball lacks ${missing}, which its exported types import`);
      const largest = lookedAt[folder] ?? largestTarballBytes;
      if (size > largest) faults.push(`${name}: its tarball has ${size} bytes, more than ${largest}`);
      return [folder, join(work, filename.replace(/^@/, "").replace("/", "-"))];
    }),
  );
}

/** Returns the declaration files that the exported types import and the tarball lacks: their types would silently become any. */
function missingDeclarations({ folder, exports }, packed) {
  const reached = new Set(Object.values(exports).flatMap(({ types }) => (types ? [normalize(types)] : [])));
  for (const file of reached) {
    // If the build has not written a file, report it as missing from the tarball.
    if (!existsSync(join(root, folder, file))) continue;
    const text = readFileSync(join(root, folder, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    for (const [, specifier] of text.matchAll(/(?:from|import\(|import) ?"(\.[^"]+)\.[jt]s"/g))
      reached.add(join(dirname(file), `${specifier.replace(/\.d$/, "")}.d.ts`));
  }
  return [...reached].filter((file) => !packed.has(file));
}

function publint(tarballs) {
  for (const tarball of tarballs.values()) {
    command(`publint ${tarball}`, "npx", ["--yes", "publint@0.3.25", "--strict", tarball], work);
  }
}

/** Compiles TypeScript consumers of both module systems against the published types alone. */
function types(tarballs) {
  const folder = join(work, "types");
  mkdirSync(folder);
  for (const name of tarballs.keys()) unpack(tarballs.get(name), join(folder, "node_modules", "@svc", name));
  const declared = readdirSync(join(root, "node_modules/@types")).map((name) => `@types/${name}`);
  const typed = [
    "pg-types",
    "pg-protocol",
    "prom-client",
    "pino",
    "ioredis",
    "undici-types",
    "helmet",
    "jose",
  ];
  link(folder, [...declared, ...typed]);
  const esm = [...tarballs.keys()].map(
    (name, index) => `import * as p${index} from "@svc/${name}";\nvoid p${index};`,
  );
  const cjs = [...tarballs.keys()].map(
    (name, index) => `import p${index} = require("@svc/${name}");\nvoid p${index};`,
  );
  writeFileSync(join(folder, "esm.mts"), esm.join("\n"));
  writeFileSync(join(folder, "cjs.cts"), cjs.join("\n"));
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node",
    "--exactOptionalPropertyTypes",
  ];
  command(
    "types, module nodenext",
    join(root, "node_modules/.bin/tsc"),
    [...options, "esm.mts", "cjs.cts"],
    folder,
  );
}

/** Loads all packages in one application, installed by npm. */
function together(tarballs, moduleSystem, major) {
  const folder = consumer(`together-${moduleSystem}-${major}`, moduleSystem);
  const wanted = [...tarballs.values(), `express@^${major}`];
  command(
    `install ${folder}`,
    "npm",
    ["install", "--no-audit", "--no-fund", "--loglevel=error", ...wanted],
    folder,
  );
  load(folder, moduleSystem, major, [...tarballs.keys()], `all packages, ${moduleSystem}, Express ${major}`);
}

/** Loads one package from a folder that has only this package's dependencies. */
function alone(tarballs, name, moduleSystem, major) {
  const folder = consumer(`alone-${name}-${moduleSystem}-${major}`, moduleSystem);
  const modules = join(folder, "node_modules");
  const outside = new Set();
  const place = (each) => {
    const target = join(modules, "@svc", each);
    if (existsSync(target)) return;
    unpack(tarballs.get(each), target);
    for (const dependency of Object.keys(packages.get(each).dependencies ?? {})) {
      if (dependency.startsWith("@svc/")) place(dependency.slice("@svc/".length));
      else outside.add(dependency);
    }
  };
  place(name);
  link(folder, [...outside]);
  mkdirSync(modules, { recursive: true });
  symlinkSync(join(root, "node_modules", major === 4 ? "express4" : "express"), join(modules, "express"));
  load(folder, moduleSystem, major, [name], `${name} alone, ${moduleSystem}, Express ${major}`);
}

function consumer(name, moduleSystem) {
  const folder = join(work, name);
  mkdirSync(folder);
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: moduleSystem === "esm" ? "module" : "commonjs" }),
  );
  return folder;
}

function load(folder, moduleSystem, major, names, what) {
  cpSync(join(root, "scripts/consumer-cases.cjs"), join(folder, "cases.cjs"));
  const use = moduleSystem === "esm" ? "(name) => import(name)" : "(name) => Promise.resolve(require(name))";
  const take =
    moduleSystem === "esm" ? 'import cases from "./cases.cjs";' : 'const cases = require("./cases.cjs");';
  const main = `${take}\ncases.run(${use}, ${JSON.stringify(names)}).catch((error) => { console.error(error); process.exit(1); });\n`;
  writeFileSync(join(folder, "main.js"), main);
  const { stdout } = command(what, process.execPath, ["main.js"], folder);
  for (const name of names) {
    if (!stdout.includes(`${name}: ok`)) faults.push(`${what}: ${name} was not exercised\n${stdout}`);
  }
}

function unpack(tarball, target) {
  mkdirSync(target, { recursive: true });
  command("tar", "tar", ["-xzf", tarball, "-C", target, "--strip-components=1"], work);
}

function link(folder, names) {
  for (const name of names) {
    const source = join(root, "node_modules", name);
    if (!existsSync(source)) continue;
    const target = join(folder, "node_modules", name);
    mkdirSync(join(target, ".."), { recursive: true });
    if (!existsSync(target)) symlinkSync(source, target);
  }
}

function command(what, program, args, cwd, env = {}) {
  const result = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  if (result.status !== 0)
    faults.push(`${what} failed:\n${result.stdout}${result.stderr}${result.error ?? ""}`);
  return result;
}
