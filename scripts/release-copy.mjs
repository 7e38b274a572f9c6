// Makes a copy of the repository in which scripts/test-registry.mjs runs the release commands.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const gitSettings = {
  "user.name": "Release test",
  "user.email": "release@example.com",
  "commit.gpgSign": "false",
  "tag.gpgSign": "false",
  // Prefer speed to durability, because the copy is deleted after a minute.
  "core.fsync": "none",
  "core.compression": "0",
};

/**
 * Copies the files of the working tree, commits them, and adds the repository to push to.
 *
 * @param work - the folder for the copy and for its remote repository
 * @param registry - `url` and `token` of the registry to publish to
 * @returns the copy's folder
 */
export function copyForRelease(work, { url, token }) {
  const [folder, remote] = ["copy", "remote.git"].map((name) => join(work, name));
  for (const file of git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0")) {
    if (file === "" || lstatSync(join(root, file), { throwIfNoEntry: false }) === undefined) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  linkModules(folder);
  changeManifests(folder);
  appendFileSync(join(folder, ".npmrc"), `${url.slice("http:".length)}:_authToken=${token}\n`);

  execFileSync("git", ["init", "--quiet", "--bare", remote]);
  git(folder, "init", "--quiet", "--initial-branch=main");
  for (const [key, value] of Object.entries(gitSettings)) git(folder, "config", key, value);
  git(folder, "remote", "add", "origin", remote);
  return folder;
}

/** Commits all changes of the copy, and pushes them. */
export function commitAll(folder, subject) {
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message", subject);
  git(folder, "push", "--quiet", "--set-upstream", "origin", "main");
}

/** Links the installed packages, and the packages of the workspace to their folders in the copy. */
function linkModules(folder) {
  const [from, to] = [join(root, "node_modules"), join(folder, "node_modules")];
  mkdirSync(join(to, "@svc"), { recursive: true });
  for (const name of readdirSync(from))
    if (name !== "@svc" && name !== ".package-lock.json") symlinkSync(join(from, name), join(to, name));
  for (const name of readdirSync(join(from, "@svc")))
    symlinkSync(readlinkSync(join(from, "@svc", name)), join(to, "@svc", name));
}

/** Sets `repository` unless the owner has set it, and turns provenance off, which only a hosted CI can state. */
function changeManifests(folder) {
  change(join(folder, "package.json"), (manifest) => {
    manifest.repository ??= "https://example.com/owner/name";
  });
  for (const name of readdirSync(join(folder, "packages")))
    change(join(folder, "packages", name, "package.json"), ({ publishConfig }) => {
      if (publishConfig !== undefined) publishConfig.provenance = false;
    });
}

function change(file, edit) {
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  edit(manifest);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

function git(cwd, ...args) {
  return execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });
}
