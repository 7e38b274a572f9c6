import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that tests start and that npm does not install. */
export interface Program {
  /** The program's name in messages. */
  readonly title: string;
  /** Names of the executable, the preferred one first. */
  readonly files: readonly string[];
  /** A Python module that the executable, a Python interpreter, must have. Default: none. */
  readonly module?: string | undefined;
  /** The Debian package to install. */
  readonly package: string;
  /**
   * The Debian packages to download and unpack instead of an installation. Default: none, so that `package` must be
   * installed.
   */
  readonly unpacked?: readonly string[] | undefined;
}

/** The name of a program in {@link programs}. */
export type ProgramName =
  "redis" | "nats" | "pgbouncer" | "promtool" | "chromium" | "python" | "httpbin" | "psql" | "nginx";

/** The programs that tests may need. `scripts/ci-packages.sh` lists a package for each program. */
export const programs: Readonly<Record<ProgramName, Program>> = {
  redis: {
    title: "Redis",
    files: ["redis-server", "valkey-server"],
    package: "redis-server",
    unpacked: ["redis-server", "redis-tools"],
  },
  nats: { title: "NATS", files: ["nats-server"], package: "nats-server", unpacked: ["nats-server"] },
  pgbouncer: { title: "PgBouncer", files: ["pgbouncer"], package: "pgbouncer", unpacked: ["pgbouncer"] },
  promtool: { title: "promtool", files: ["promtool"], package: "prometheus", unpacked: ["prometheus"] },
  chromium: {
    title: "Chromium",
    // The headless shell is the same browser without a user interface, and uses half the CPU time.
    files: [
      "chromium-headless-shell",
      "chromium",
      "chromium-browser",
      "google-chrome",
      "google-chrome-stable",
    ],
    package: "chromium-headless-shell",
  },
  python: { title: "Python", files: ["python3"], package: "python3" },
  httpbin: { title: "httpbin", files: ["python3"], module: "httpbin", package: "python3-httpbin" },
  psql: { title: "psql", files: ["psql"], package: "postgresql-client" },
  nginx: { title: "nginx", files: ["nginx"], package: "nginx-core" },
};

/** File name extension of executables. */
export const SUFFIX = process.platform === "win32" ? ".exe" : "";

export function foldersOnPath({ PATH = "" }: NodeJS.ProcessEnv): readonly string[] {
  return PATH.split(delimiter).filter((folder) => folder !== "");
}

/** Returns the path of the first of `files` that exists in one of these folders and that this process may execute. */
export function firstIn(folders: readonly string[], files: readonly string[]): string | undefined {
  return allIn(folders, files)[0];
}

/** Returns the paths of all `files` that exist in these folders and that this process may execute. */
export function allIn(folders: readonly string[], files: readonly string[]): readonly string[] {
  const paths = files.flatMap((file) => folders.map((folder) => join(folder, file + SUFFIX)));
  return paths.filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
