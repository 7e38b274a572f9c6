import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";

/**
 * Copies the files that git tracks or would add, and links the installed packages. The packages of the workspace link to
 * the copy, so tests in it load its changed files.
 *
 * @returns the folder of the copy
 */
export function copySources(root, target) {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  for (const file of new Set(listed.split("\0"))) {
    if (file === "" || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(root, file), join(target, file));
  }
  linkModules(join(root, "node_modules"), join(target, "node_modules"));
  for (const kind of ["packages", "examples"])
    for (const name of readdirSync(join(root, kind))) {
      for (const made of ["node_modules", "dist"]) {
        const path = join(kind, name, made);
        if (existsSync(join(root, path))) symlinkSync(join(root, path), join(target, path));
      }
    }
  return target;
}

function linkModules(from, to) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const source = join(from, name);
    if (lstatSync(source).isSymbolicLink()) symlinkSync(readlinkSync(source), join(to, name));
    else if (name.startsWith("@")) linkModules(source, join(to, name));
    else symlinkSync(source, join(to, name));
  }
}
