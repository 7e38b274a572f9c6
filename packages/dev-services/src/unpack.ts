import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { isRoot, keptFolder, ownFolder } from "./account.ts";
import type { Attempt } from "./attempts.ts";
import { readJson, withLock, writeWhole } from "./lock.ts";
import { firstIn, foldersOnPath, type Program } from "./programs.ts";
import { runName } from "./test-run.ts";

/** The options of {@link unpack}. */
export interface UnpackOptions {
  readonly env: NodeJS.ProcessEnv;
  /**
   * Folder for the unpacked programs. Default: a folder that belongs to this user, in the system's persistent temporary
   * folder.
   */
  readonly cache?: string | undefined;
  /** Time limit for one download, in milliseconds. Default: 60,000. */
  readonly downloadMs?: number | undefined;
}

/** A failure recorded for the other processes in the run. */
interface Failure {
  readonly run: string;
  readonly reason: string;
}

// A reachable mirror sends each package within seconds.
const DOWNLOAD_MS = 60_000;
const LOCAL_MS = 30_000;
/** Matches the errors of an unreachable mirror. After such an error, no other package is tried. */
const OFFLINE = /^(?:did not end within|Failed to fetch(?!.* 404 )|Could not resolve|Unable to connect)/;
// Maximum wait while another process unpacks; unpacking takes less time. After that, the tests are skipped.
const LOCK_MS = 150_000;

/**
 * Downloads a program's packages and unpacks them without root, once for each user and Debian release. Records a
 * failure, so that other processes in the test run do not try again.
 *
 * @param attempts receives the reason on failure; the function does not throw
 */
export function unpack(program: Program, attempts: Attempt[], options: UnpackOptions): string | undefined {
  const { unpacked: packages, files } = program;
  if (packages === undefined) return undefined;
  const rung = `apt-get download ${program.package}`;
  try {
    const cache = options.cache ?? keptFolder(`svc-programs-${process.getuid?.() ?? 0}`);
    const kept = join(cache, releaseOf(), program.package);
    const find = (): string | undefined => firstIn([join(kept, "run")], files);
    if (existsSync(cache)) {
      // Check the owner first, because another user may have created this folder.
      ownFolder(cache);
      const existing = find();
      if (existing !== undefined) return existing;
    }
    const debian = debianOf(options);
    ownFolder(cache);
    mkdirSync(dirname(kept), { recursive: true });
    const failures = [join(cache, "offline.json"), `${kept}.json`] as const;
    return withLock(join(cache, "unpacking"), LOCK_MS, () => {
      const done = find();
      if (done !== undefined) return done;
      for (const file of failures) throwIfFailedInThisRun(file);
      try {
        unpackInto(kept, packages, program, debian);
      } catch (error) {
        const failure: Failure = { run: runName(), reason: (error as Error).message };
        writeWhole(OFFLINE.test(failure.reason) ? failures[0] : failures[1], failure);
        throw error;
      }
      return find();
    });
  } catch (error) {
    attempts.push({ rung, reason: (error as Error).message });
    return undefined;
  }
}

/** The environment and the time limit with which the Debian tools run. */
interface Debian {
  readonly env: NodeJS.ProcessEnv;
  readonly downloadMs: number;
}

/** @throws Error if a Debian tool is not on `PATH` */
function debianOf({ env, downloadMs = DOWNLOAD_MS }: UnpackOptions): Debian {
  for (const name of ["apt-get", "dpkg", "ldd"]) {
    if (firstIn(foldersOnPath(env), [name]) === undefined) throw new Error(`${name} is not on PATH`);
  }
  return { env: { ...env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" }, downloadMs };
}

/**
 * Returns a folder name for this system's release, because libraries from one release do not work with programs from
 * another.
 */
function releaseOf(): string {
  const text = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const value = (name: string): string =>
    new RegExp(`^${name}="?([\\w.-]+)"?$`, "m").exec(text)?.[1] ?? "unknown";
  return `${value("ID")}-${value("VERSION_ID")}-${process.arch}`;
}

function throwIfFailedInThisRun(file: string): void {
  // A file that a crash cut short is not valid JSON; ignore and remove it.
  const failure = readJson<Failure>(file);
  if (failure?.run === runName()) throw new Error(failure.reason);
  rmSync(file, { force: true });
}

function unpackInto(kept: string, packages: readonly string[], program: Program, debian: Debian): void {
  const fresh = mkdtempSync(`${kept}-`);
  try {
    addPackages(fresh, packages, debian);
    const files = program.files.filter((file) => programIn(fresh, file) !== undefined);
    if (files.length === 0) throw new Error(`the package does not contain ${program.files.join(" or ")}`);
    if (files.some((file) => lacksLibraries(programIn(fresh, file) ?? "", fresh, debian))) {
      const libraries = librariesFor(program.package, debian);
      if (libraries.length > 0) addPackages(fresh, libraries, debian);
    }
    mkdirSync(join(fresh, "run"));
    for (const file of files) writeStarter(fresh, kept, file);
    if (isRoot()) chmodSync(fresh, 0o755);
    rmSync(kept, { recursive: true, force: true });
    renameSync(fresh, kept);
    for (const file of files) {
      const { status } = spawnSync(join(kept, "run", file), ["--version"], {
        env: debian.env,
        timeout: LOCAL_MS,
      });
      if (status !== 0) {
        rmSync(kept, { recursive: true, force: true });
        throw new Error(`${file} failed to start after unpacking`);
      }
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function addPackages(root: string, packages: readonly string[], debian: Debian): void {
  const settings = ["Retries=0", "http::Timeout=10", "https::Timeout=10"].flatMap((each) => [
    "-o",
    `Acquire::${each}`,
  ]);
  run("apt-get", ["-q", ...settings, "download", ...packages], root, debian.downloadMs, debian);
  for (const archive of globSync("*.deb", { cwd: root })) {
    run("dpkg", ["-x", archive, "."], root, LOCAL_MS, debian);
    rmSync(join(root, archive));
  }
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  timeout: number,
  { env }: Debian,
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    timeout,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (status === 0) return stdout;
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT")
    throw new Error(`did not end within ${timeout / 1000} s`);
  if (error !== undefined) throw new Error(error.message);
  const [reason = `exit code ${status}`] = stderr
    .split("\n")
    .filter((line) => line.startsWith("E: "))
    .map((line) => line.slice(3));
  throw new Error(reason);
}

function programIn(root: string, file: string): string | undefined {
  return firstIn(
    ["usr/bin", "usr/sbin", "bin", "sbin"].map((folder) => join(root, folder)),
    [file],
  );
}

function libraryFolders(root: string): readonly string[] {
  const libraries = globSync("{lib,usr/lib}{,/*}/*.so*", { cwd: root });
  return [...new Set(libraries.map((file) => dirname(file)))];
}

function lacksLibraries(path: string, root: string, { env }: Debian): boolean {
  const LD_LIBRARY_PATH = libraryFolders(root)
    .map((folder) => join(root, folder))
    .join(delimiter);
  // Ignore the exit status: ldd fails for a statically linked program, which does not need libraries.
  const { stdout } = spawnSync("ldd", [path], {
    env: { ...env, LD_LIBRARY_PATH },
    encoding: "utf8",
    timeout: LOCAL_MS,
  });
  return stdout.includes("not found");
}

/** Returns the library packages that apt-get would install together with a package. */
function librariesFor(name: string, debian: Debian): readonly string[] {
  const args = ["-q", "--simulate", "--no-install-recommends", "install", name];
  const planned = run("apt-get", args, "/", LOCAL_MS, debian);
  const names = [...planned.matchAll(/^Inst (lib\S+)/gm)].map(([, each = ""]) => each);
  return names.filter((each) => !each.startsWith("libjs-"));
}

/** Writes a script that sets the library path and starts the unpacked program; `exec` keeps the process id. */
function writeStarter(fresh: string, kept: string, file: string): void {
  const folders = libraryFolders(fresh).map((folder) => join(kept, folder));
  const real = join(kept, (programIn(fresh, file) ?? "").slice(fresh.length + 1));
  const libraries =
    folders.length === 0
      ? ""
      : `LD_LIBRARY_PATH="${folders.join(":")}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\nexport LD_LIBRARY_PATH\n`;
  writeFileSync(join(fresh, "run", file), `#!/bin/sh\n${libraries}exec "${real}" "$@"\n`, { mode: 0o755 });
}
