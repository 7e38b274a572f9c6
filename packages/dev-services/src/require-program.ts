import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { type Attempt, NoServerError } from "./attempts.ts";
import { allIn, foldersOnPath, type Program, type ProgramName, programs } from "./programs.ts";
import { unpack } from "./unpack.ts";

/** The folders in which Debian installs servers. They are not on a normal user's `PATH`. */
const SERVER_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/postgresql/*/bin"];

/** The places to search for a program. */
export interface Lookup {
  /** The environment that contains `PATH`. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Glob patterns for folders to search besides `PATH`. Default: the folders where Debian installs servers. */
  readonly folders?: readonly string[] | undefined;
  /** The folder for unpacked packages. Default: a folder that belongs to this user and is kept between runs. */
  readonly cache?: string | undefined;
}

/**
 * Returns a program's path: on `PATH`, else in the folders where Debian installs servers, else unpacked from its Debian
 * package. Unpacking happens once and takes at most two minutes.
 *
 * @throws NoServerError if the program is not found; the error names the package to install
 */
export function requireProgram(wanted: ProgramName | Program, lookup: Lookup = {}): string {
  const program: Program = typeof wanted === "string" ? programs[wanted] : wanted;
  const { env = process.env, folders = SERVER_FOLDERS } = lookup;
  const found = installedIn(foldersOnPath(env), program) ?? installedIn(existing(folders), program);
  if (found !== undefined) return found;
  const where = folders.length === 0 ? "on PATH" : `on PATH or in ${folders.join(", ")}`;
  const attempts: Attempt[] = [{ rung: "installed", reason: `${withModule(program)} is not ${where}` }];
  const unpacked = unpack(program, attempts, { env, cache: lookup.cache });
  if (unpacked !== undefined) return unpacked;
  const name = program.package;
  throw new NoServerError(program.title, attempts, `install ${name} (Debian: apt-get install ${name})`);
}

function withModule({ files, module }: Program): string {
  return files.join(" or ") + (module === undefined ? "" : ` with the module ${module}`);
}

function installedIn(folders: readonly string[], { files, module }: Program): string | undefined {
  // A machine may have several Pythons, each with its own modules.
  return allIn(folders, files).find((path) => module === undefined || hasModule(path, module));
}

function hasModule(python: string, module: string): boolean {
  const code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
  return spawnSync(python, ["-c", code, module], { stdio: "ignore", timeout: 10_000 }).status === 0;
}

function existing(patterns: readonly string[]): readonly string[] {
  // Sort the newest version first: a pattern matches several folders only if they are named after versions.
  return patterns.flatMap((pattern) =>
    pattern.includes("*") ? globSync(pattern).toSorted().toReversed() : [pattern],
  );
}
