// Rehearses a release: runs the release commands in a copy of the working tree, publishes to a registry on the loopback interface,
// installs the packages from there into the applications of test/registry/, and runs the tests of each application.
// node scripts/test-registry.mjs [application...]
import { execFile } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { startRegistry } from "./local-registry.mjs";
import { commitAll, copyForRelease } from "./release-copy.mjs";
import { publishedManifests } from "./workspace.mjs";

const execute = promisify(execFile);
const applicationsFolder = resolve(import.meta.dirname, "../test/registry");
const packages = [...publishedManifests().values()];
const applications = chosenApplications(process.argv.slice(2));
const work = mkdtempSync(join(tmpdir(), "svc-registry-"));
let registry;
let copy;
/** The released version of each package. */
let versions;
// Ctrl+C ends the running command, whose failure then ends this program after it has removed its files.
process.on("SIGINT", () => {});
try {
  await rehearse();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await registry?.stop();
  rmSync(work, { recursive: true, force: true });
}

async function rehearse() {
  const started = performance.now();
  registry = await timed("a registry with npm's as its source", () => startRegistry(join(work, "registry")));
  copy = copyForRelease(work, registry);
  await run("node", ["scripts/manifests.mjs"], copy);
  commitAll(copy, "chore: prepare the release");
  await release(newestVersion());
  // The dependents of a package with a new minor version must admit it, also as a peer.
  appendFileSync(join(copy, "packages/redis/README.md"), "\nA change.\n");
  commitAll(copy, "feat(redis): change something");
  await release();
  for (const name of applications) await tryApplication(name);
  console.log(
    `${packages.length} packages published, ${applications.length} applications passed: ${seconds(started)}`,
  );
}

/** Runs both release commands, the first with the given arguments. */
async function release(...args) {
  // Otherwise Lerna starts an Nx daemon that outlives it.
  const env = { NX_DAEMON: "false" };
  const registryOption = ["--registry", registry.url];
  await timed(["npm run release", ...args].join(" -- "), () =>
    run("npm", ["run", "release", "--", ...args, "--yes"], copy, env),
  );
  await timed("npm run release:publish", () =>
    run("npm", ["run", "release:publish", "--", "--yes", ...registryOption], copy, env),
  );
  versions = new Map(packages.map(({ name, folder }) => [name, versionIn(join(copy, folder))]));
  for (const [name, version] of versions) {
    const { "dist-tags": tags } = await (await fetch(`${registry.url}${name}`)).json();
    if (tags?.latest !== version)
      throw new Error(`${name}: the registry has ${tags?.latest}, not ${version}`);
  }
}

function versionIn(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
}

/** Returns the version under which all packages are released: the newest of their versions, so that all ranges admit it. */
function newestVersion() {
  const versions = packages.map((manifest) => manifest.version);
  return versions.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
}

function chosenApplications(names) {
  const all = readdirSync(applicationsFolder);
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length === 0) return names.length > 0 ? names : all;
  console.error(`no such application: ${unknown.join(", ")}; test/registry has ${all.join(", ")}`);
  process.exit(2);
}

/** Installs an application with an empty cache, and runs its tests. */
async function tryApplication(name) {
  const started = performance.now();
  const folder = join(work, name);
  cpSync(join(applicationsFolder, name), folder, {
    recursive: true,
    filter: (file) => !file.includes("node_modules"),
  });
  const cache = join(work, `cache-${name}`);
  // The lock file must name the registry of each package, regardless of the machine's npm settings.
  const options = ["--registry", registry.url, "--cache", cache, "--omit-lockfile-registry-resolved=false"];
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...options], folder);
  const installed = seconds(started);
  const output = await run("npm", ["test"], folder);
  // A test run without tests passes too.
  const tests = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
  if (tests === 0) throw new Error(`${name} ran no tests:\n${output}`);
  const { count, own } = installedPackages(folder);
  const size = (sizeOf(join(folder, "node_modules")) / 1e6).toFixed(1);
  console.log(
    `${name}: ${tests} tests passed; ${count} packages, ${own} of them ours, ${size} MB; installed in ${installed}`,
  );
}

/** Counts the packages. Checks that ours come from the registry of this run, and that no types were installed. */
function installedPackages(folder) {
  const lock = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
  const all = Object.entries(lock.packages);
  const types = all.find(([path]) => path.includes("node_modules/@types/"));
  if (types !== undefined) throw new Error(`a dependency installs ${types[0]}`);
  const own = all.filter(([path]) => path.includes("node_modules/@svc/"));
  for (const [path, { resolved, version }] of own) {
    const name = path.slice(path.lastIndexOf("@svc/"));
    if (version !== versions.get(name) || !resolved.startsWith(registry.url))
      throw new Error(
        `${path} must be ${versions.get(name)} from ${registry.url}; it is ${version} from ${resolved}`,
      );
  }
  return { count: all.length, own: own.length };
}

function sizeOf(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  return bytes;
}

async function timed(what, step) {
  const started = performance.now();
  const result = await step();
  console.log(`${what}: ${seconds(started)}`);
  return result;
}

function seconds(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

async function run(program, args, cwd, env = {}) {
  try {
    const { stdout } = await execute(program, args, {
      cwd,
      env: { ...process.env, ...env },
      maxBuffer: 64 * 1024 * 1024,
      shell: process.platform === "win32",
    });
    return stdout;
  } catch ({ message, stdout = "" }) {
    // The message contains the command and its standard error.
    throw new Error(`${message}\n${stdout}`);
  }
}
