import { spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Account, isInMemory, privateFolder } from "./account.ts";
import { withClient } from "./environment.ts";
import { isPortFree, onFreePort } from "./free-port.ts";
import { copyData, keepTemplate, templatePath } from "./initdb-template.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { endServer, isServer } from "./processes.ts";

/** The options of `startPostgres()`. */
export interface PostgresOptions {
  /** `test`: fast, and no data survives a crash. `demo`: durable, and the data is kept. */
  readonly purpose: "test" | "demo";
  /** The port on 127.0.0.1. Default: a free port. */
  readonly port?: number | undefined;
  /**
   * The server's folder for data and log. If given, the folder is kept. Default: for tests a new folder that is removed
   * at the end; for the demo the folder that `demoFolder()` returns for the working directory.
   */
  readonly dataDir?: string | undefined;
  /** A database to create if it does not exist. Default: `postgres`, which always exists. */
  readonly database?: string | undefined;
  /** Password for the user `postgres` on every connection. Default: connections need no password. */
  readonly password?: string | undefined;
  /** Additional server settings, for example `{ max_connections: "20" }`. Default: none. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** The environment whose `PATH` is searched. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Folder to search for installed versions besides `PATH`. Default: `/usr/lib/postgresql`. */
  readonly installedUnder?: string | undefined;
  /**
   * `embedded`: only the npm package; `system`: only an installed version. Default: the npm package if it works, else
   * an installed version.
   */
  readonly only?: "embedded" | "system" | undefined;
}

/** The folder, programs, account and options with which a server is started. */
export interface Site {
  readonly folder: string;
  readonly data: string;
  readonly binaries: PostgresBinaries;
  readonly account: Account | undefined;
  readonly options: PostgresOptions;
}

/**
 * Returns options for `spawn`: the server's account and a minimal environment, on Windows the environment of this
 * process.
 */
function runAs({ account, folder }: Site): object {
  const windows = process.platform === "win32";
  return {
    ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    cwd: folder,
    env: { ...(windows ? process.env : {}), LC_ALL: "C", TZ: "UTC", PATH: process.env.PATH ?? "" },
    windowsHide: true,
  };
}

/** Creates the data folder if it does not exist. A failure leaves no partial folder. */
export async function initialise(site: Site): Promise<void> {
  const { folder, data, binaries, account, options } = site;
  const marker = join(data, "PG_VERSION");
  if (existsSync(marker)) {
    const held = readFileSync(marker, "utf8").trim();
    if (held !== String(binaries.major)) {
      throw new Error(
        `${folder} contains data of PostgreSQL ${held}, but the version to start is ${binaries.version}; ` +
          `start PostgreSQL ${held}, or remove the folder`,
      );
    }
    return;
  }
  // Check the port before spending seconds on initdb. With existing data, the port may belong to an orphaned server
  // from an earlier run.
  if (options.port !== undefined) await requireFree(site, options.port);
  // An interrupted start leaves a partial folder. The lock ensures that no other process is creating one now.
  for (const name of readdirSync(folder).filter((each) => each.startsWith("init-"))) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  const fresh = join(folder, `init-${process.pid}`);
  const args = ["-U", "postgres", "--locale=C", "-E", "UTF8"];
  if (options.purpose === "test") args.push("--no-sync");
  if (binaries.major >= 16)
    args.push(...Object.entries(sharedMemoryOf(folder)).map(([name, value]) => `--set=${name}=${value}`));
  privateFolder(fresh, account);
  const template = templatePath(options, [binaries.bin, ...args]);
  if (template !== undefined && existsSync(template)) copyData(template, fresh);
  else {
    initdb(site, fresh, args);
    if (template !== undefined) keepTemplate(fresh, template);
  }
  renameSync(fresh, data);
}

/** Runs initdb in an empty folder. A failure removes the folder. */
function initdb(site: Site, fresh: string, options: readonly string[]): void {
  const { folder, binaries, account } = site;
  const { password } = site.options;
  const args = ["-D", fresh, ...options];
  const secret = join(folder, `init-${process.pid}.pw`);
  if (password === undefined) args.push("-A", "trust");
  else {
    writeFileSync(secret, password, { mode: 0o600 });
    if (account !== undefined) chownSync(secret, account.uid, account.gid);
    args.push("-A", "scram-sha-256", `--pwfile=${secret}`);
  }
  const { status, error, stderr } = spawnSync(join(binaries.bin, "initdb"), args, {
    ...runAs(site),
    encoding: "utf8",
    timeout: 120_000,
  });
  rmSync(secret, { force: true });
  if (error !== undefined || status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    throw new Error(`initdb failed in ${folder}: ${error?.message ?? stderr.trim()}`);
  }
}

/**
 * Stops a server that still runs on the same data although the process that started it has died, or removes the pid
 * file of a dead server.
 */
export async function endOrphan({ data }: Site): Promise<void> {
  const file = join(data, "postmaster.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  if (isServer(pid, data)) await endServer(pid, "SIGINT", 20_000);
  else rmSync(file, { force: true });
}

const FAST = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "200" };

/**
 * Returns the setting that keeps the server's shared memory in its folder instead of `/dev/shm`, if the folder is in
 * memory. Segments in `/dev/shm` would remain after the server is killed, but the watchdog removes the folder.
 */
function sharedMemoryOf(folder: string): Readonly<Record<string, string>> {
  return isInMemory(folder) ? { dynamic_shared_memory_type: "mmap" } : {};
}

/** A server process that accepts connections. */
export interface Running {
  readonly pid: number;
  readonly port: number;
}

/** Starts the server's process and waits until it accepts connections. */
export async function run(site: Site, started: (pid: number) => void, port?: number): Promise<Running> {
  const wanted = port ?? site.options.port;
  if (wanted !== undefined) await requireFree(site, wanted);
  const isTaken = (error: unknown): boolean =>
    error instanceof Error && error.message.includes("Address already in use");
  return onFreePort(wanted, (at) => runOn(site, at, started), isTaken);
}

async function requireFree(site: Site, port: number): Promise<void> {
  if (!(await isPortFree(port)))
    throw new Error(`port ${port} on 127.0.0.1, needed for PostgreSQL, is taken${remedy(site)}`);
}

function remedy({ options }: Site): string {
  return options.purpose === "demo"
    ? "; stop the process that uses it, or set SVC_PORT so that the port after it is free"
    : "";
}

async function runOn(site: Site, port: number, started: (pid: number) => void): Promise<Running> {
  const { folder, data, binaries, options } = site;
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    ...(options.purpose === "test" ? FAST : {}),
    ...sharedMemoryOf(folder),
    ...options.settings,
  };
  const logFile = join(folder, "server.log");
  const log = openSync(logFile, "w", 0o600);
  const args = [
    "-D",
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const child = spawn(join(binaries.bin, "postgres"), args, {
    ...runAs(site),
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${binaries.bin}/postgres could not be started`);
  started(child.pid);
  child.unref();
  const end = performance.now() + 60_000;
  while (!(await answers(urlOf(port, options.password, "postgres")))) {
    const dead = child.exitCode !== null || child.signalCode !== null;
    if (dead || performance.now() > end) {
      if (!dead) await endServer(child.pid, "SIGQUIT", 5000);
      const tail = readFileSync(logFile, "utf8").trim().split("\n").slice(-8).join("\n");
      throw new Error(`PostgreSQL ${binaries.version} did not start in ${folder}:\n${tail}`);
    }
    await sleep(15);
  }
  return { pid: child.pid, port };
}

/** Returns the URL of a database on the server, for the user `postgres`. */
export function urlOf(port: number, password: string | undefined, database: string): string {
  const user = password === undefined ? "postgres" : `postgres:${encodeURIComponent(password)}`;
  return `postgresql://${user}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

function answers(url: string): Promise<boolean> {
  return withClient({ connectionString: url, connectionTimeoutMillis: 2000 }, () =>
    Promise.resolve(true),
  ).catch(() => false);
}
