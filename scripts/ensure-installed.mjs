// Runs before every command of the repository. Written in plain JavaScript for old versions of Node: before the install,
// only the Node of the machine is available.
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const windows = process.platform === "win32";

if (isStale()) {
  const npm = process.env.npm_execpath;
  // Use --loglevel=error, because an older Node would warn that the workspaces need a newer one, which this install brings.
  const args = ["ci", "--loglevel=error"];
  const [command, given] = npm?.endsWith(".js") ? [process.execPath, [npm, ...args]] : ["npm", args];
  const shell = windows && command === "npm";
  const install = spawn(command, given, { cwd: root, stdio: "inherit", env: environment(), shell });
  // With this log level npm prints nothing until its end. Standard output belongs to the command that follows.
  const started = Date.now();
  const progress = setInterval(() => {
    console.error(`npm ci: running for ${Math.round((Date.now() - started) / 1000)} s`);
  }, 15_000);
  const status = await new Promise((resolve, reject) => install.on("error", reject).on("close", resolve));
  clearInterval(progress);
  if (status !== 0) process.exit(status ?? 1);
}

if (!hasPinnedNode() && !isNewEnough(process.versions.node)) {
  console.error(
    `This needs Node.js 22.19 or newer; install Node.js 24 (this machine has ${process.versions.node}, ` +
      `and no build of Node.js for ${process.platform}-${process.arch} came with the install).`,
  );
  process.exit(1);
}

function isStale() {
  const installed = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return true;
  return statSync(installed).mtimeMs < statSync(join(root, "package-lock.json")).mtimeMs;
}

function hasPinnedNode() {
  return existsSync(join(root, "node_modules", ".bin", windows ? "node.cmd" : "node"));
}

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}

// npm passes its settings to commands in the environment. Remove them, because a workspace chosen with -w would restrict
// the install.
function environment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_config_(workspace|workspaces|include_workspace_root)$/i.test(name),
    ),
  );
}
