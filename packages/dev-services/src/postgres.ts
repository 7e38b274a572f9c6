import { dirname, join, resolve } from "node:path";
import { Client } from "pg";
import { demoFolder, ownFolder, scratchFolder, serverAccount } from "./account.ts";
import { type Attempt, NoServerError } from "./attempts.ts";
import { startWatchdog, type Watchdog } from "./lease.ts";
import { type Joined, joinOrStart, writeWhole } from "./lock.ts";
import { findPostgres, type PostgresBinaries } from "./postgres-binaries.ts";
import {
  endOrphan,
  initialise,
  run as runServer,
  type Running,
  type Site,
  urlOf,
} from "./postgres-process.ts";
import { endServer, gone, pauseTree, signalTree } from "./processes.ts";
import { isNamedRun } from "./test-run.ts";
import type { Charge } from "./watchdog.ts";

/** What {@link startPostgres} takes. */
export interface PostgresOptions {
  /** `test`: fast, and nothing survives a crash. `demo`: durable, and the data are kept. */
  readonly purpose: "test" | "demo";
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /**
   * The folder of the server: its data, its log. Kept when it is given. Default: for tests a new one that is removed at
   * the end; for the demo {@link demoFolder} of the working folder.
   */
  readonly dataDir?: string | undefined;
  /** A database that is made when it does not exist. Default: `postgres`, which always exists. */
  readonly database?: string | undefined;
  /** Password of the user `postgres`, asked of every connection. Default: none is asked. */
  readonly password?: string | undefined;
  /** Further settings of the server, for example `{ max_connections: "20" }`. Default: none. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** The environment whose `PATH` is searched. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** The folder in which installed versions are looked for, beside `PATH`. Default: `/usr/lib/postgresql`. */
  readonly installedUnder?: string | undefined;
  /** `embedded`: the npm package alone; `system`: an installed one alone. Default: the first that will do. */
  readonly only?: "embedded" | "system" | undefined;
}

/** A PostgreSQL server of our own. */
export interface PostgresServer extends AsyncDisposable {
  /** Of the database that was asked for, as the user `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Number of the server's main process. */
  readonly pid: number;
  readonly version: string;
  readonly source: string;
  readonly folder: string;
  /** Whether another process had started it already. */
  readonly joined: boolean;
  /** Stops all processes of the server where they are (SIGSTOP): it hangs. */
  pause(): void;
  /** Lets a paused server go on. */
  resume(): void;
  /** Ends all its processes at once (SIGKILL), as a crash would. Resolves when they are gone. */
  kill(): Promise<void>;
  /** Starts it again, on the same port with the same data, after `kill()` or `halt()`; stops it before when it runs. */
  restart(): Promise<void>;
  /** Stops it in order and keeps the data, so that `restart()` can follow. */
  halt(): Promise<void>;
  /**
   * Stops it in order, or when other processes use it too only lets go of it. Data of a test that were not given a
   * folder are removed.
   */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL on 127.0.0.1, as root under another account. It ends when this process ends, however it ends.
 * A server of the same folder that runs already is used.
 *
 * @throws NoServerError when there is no PostgreSQL to start; Error when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const given = options.dataDir ?? (options.purpose === "demo" ? demoFolder(process.cwd()) : undefined);
  if (given === undefined) return launch(options, undefined);
  const folder = resolve(given);
  ownFolder(folder);
  return joinPostgres({ ...options, dataDir: folder }, join(folder, "server.json"));
}

/** Uses the server that `infoFile` tells about; starts it, and writes that file, when there is none. */
export async function joinPostgres(options: PostgresOptions, infoFile: string): Promise<PostgresServer> {
  const result = await joinOrStart(infoFile, () => launch(options, infoFile));
  if (!("lease" in result)) return result;
  await createDatabase(result.info.port, options);
  return joinedServer(result, options);
}

/**
 * The programs of the PostgreSQL that {@link startPostgres} starts.
 *
 * @throws NoServerError where there is none
 */
export function requirePostgres(options: PostgresOptions): PostgresBinaries {
  const variable = options.purpose === "test" ? "SVC_TEST_DATABASE_URL" : "DATABASE_URL";
  const attempts: Attempt[] = [
    { rung: variable, reason: "not set" },
    { rung: "a server of our own that runs", reason: "none" },
  ];
  const { env = process.env, installedUnder, only } = options;
  const binaries = findPostgres(env, serverAccount(), attempts, installedUnder, only);
  if (binaries !== undefined) return binaries;
  const remedy = "npm install --include=optional, or install PostgreSQL 15 or newer";
  throw new NoServerError("PostgreSQL", attempts, remedy);
}

async function launch(options: PostgresOptions, infoFile: string | undefined): Promise<PostgresServer> {
  const account = serverAccount();
  const binaries = requirePostgres(options);
  const watchdog = await startWatchdog();
  try {
    return await launched({ binaries, account, options }, watchdog, infoFile);
  } catch (error) {
    watchdog.release();
    throw error;
  }
}

async function launched(
  given: Omit<Site, "folder" | "data">,
  watchdog: Watchdog,
  infoFile: string | undefined,
): Promise<PostgresServer> {
  const { options } = given;
  const remove = options.dataDir === undefined && options.purpose === "test";
  // Not before: it goes with its watchdog, however this process ends.
  const folder = options.dataDir ?? scratchFolder("svc-pg-");
  const data = join(folder, "data");
  const site: Site = { ...given, folder, data };
  const removed = [...(infoFile === undefined ? [] : [infoFile]), ...(remove ? [folder] : [])];
  const run = remove && infoFile !== undefined ? dirname(infoFile) : undefined;
  const removeIfEmpty = run !== undefined && isNamedRun(run) ? run : undefined;
  const base: Charge = {
    marker: data,
    signal: remove ? "SIGQUIT" : "SIGINT",
    remove: removed,
    removeIfEmpty,
  };
  watchdog.watch(base);
  const started = (pid: number): void => watchdog.watch({ ...base, pid });
  await initialise(site);
  await endOrphan(site);
  const running = await runServer(site, started);
  await createDatabase(running.port, options);
  return server(site, watchdog, running, started, infoFile);
}

async function createDatabase(port: number, { database, password }: PostgresOptions): Promise<void> {
  if (database === undefined || database === "postgres") return;
  const client = new Client({
    connectionString: urlOf(port, password, "postgres"),
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}

function server(
  site: Site,
  watchdog: Watchdog,
  first: Running,
  started: (pid: number) => void,
  infoFile: string | undefined,
): PostgresServer {
  const { folder, binaries, options } = site;
  const { port } = first;
  let running = first;
  const url = urlOf(port, options.password, options.database ?? "postgres");
  const tell = (): void => {
    if (infoFile === undefined) return;
    const { version, source } = binaries;
    writeWhole(infoFile, { url, folder, pid: running.pid, port, leasePort: watchdog.port, version, source });
  };
  const halt = (): Promise<void> => endServer(running.pid, "SIGINT", 20_000);
  tell();
  const control: PostgresServer = {
    url,
    port,
    version: binaries.version,
    source: binaries.source,
    folder,
    joined: false,
    get pid() {
      return running.pid;
    },
    pause: () => pauseTree(running.pid),
    resume: () => void signalTree(running.pid, "SIGCONT"),
    async kill() {
      await gone(signalTree(running.pid, "SIGKILL"), 10_000);
    },
    halt,
    async restart() {
      await halt();
      await endOrphan(site);
      running = await runServer(site, started, port);
      tell();
    },
    // The watchdog ends the server, unless another process holds a lease on it.
    stop: () => watchdog.finish(),
    [Symbol.asyncDispose]: () => control.stop(),
  };
  return control;
}

function joinedServer({ info, lease }: Joined, options: PostgresOptions): PostgresServer {
  const control: PostgresServer = {
    url: urlOf(info.port, options.password, options.database ?? "postgres"),
    port: info.port,
    pid: info.pid,
    version: info.version,
    source: info.source,
    folder: info.folder,
    joined: true,
    pause: () => pauseTree(info.pid),
    resume: () => void signalTree(info.pid, "SIGCONT"),
    async kill() {
      await gone(signalTree(info.pid, "SIGKILL"), 10_000);
    },
    halt: () => endServer(info.pid, "SIGINT", 20_000),
    restart: () => Promise.reject(new Error("only the process that started a server can restart it")),
    async stop() {
      lease.release();
    },
    [Symbol.asyncDispose]: () => control.stop(),
  };
  return control;
}
