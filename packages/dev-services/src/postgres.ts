import { join, resolve } from "node:path";
import { demoFolder, ownFolder, scratchFolder, serverAccount } from "./account.ts";
import { type Attempt, NoServerError } from "./attempts.ts";
import { withClient } from "./environment.ts";
import { type Watchdog, withWatchdog } from "./lease.ts";
import { type Joined, joinOrStart, type ServerInfo, writeWhole } from "./lock.ts";
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
import { removalOf } from "./test-run.ts";
import type { Charge } from "./watchdog.ts";

/** A running PostgreSQL server. */
export interface PostgresServer extends Faults, AsyncDisposable {
  /** URL of the requested database, for the user `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Id of the server's main process. */
  readonly pid: number;
  readonly version: string;
  readonly source: string;
  readonly folder: string;
  /** Whether another process had already started the server. */
  readonly joined: boolean;
  /** Starts the server again on the same port with the same data; stops it first if it runs. */
  restart(): Promise<void>;
  /** Shuts the server down cleanly and keeps the data for `restart()`. */
  halt(): Promise<void>;
  /**
   * Shuts the server down cleanly, or only releases it while other processes use it. Removes a test server's data
   * unless `dataDir` was given.
   */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server on 127.0.0.1, with another account if this process is root. It stops when this process
 * ends, even by SIGKILL. If a server already runs in the same folder, uses that server.
 *
 * @throws NoServerError if PostgreSQL is not installed; Error if the server does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const given = options.dataDir ?? (options.purpose === "demo" ? demoFolder(process.cwd()) : undefined);
  if (given === undefined) return launch(options, undefined);
  const folder = resolve(given);
  ownFolder(folder);
  return joinPostgres({ ...options, dataDir: folder }, join(folder, "server.json"));
}

/** Joins the server that `infoFile` describes, or starts one and writes that file. */
export async function joinPostgres(options: PostgresOptions, infoFile: string): Promise<PostgresServer> {
  const result = await joinOrStart(infoFile, () => launch(options, infoFile));
  if (!("lease" in result)) return result;
  await createDatabase(result.info.port, options);
  return joinedServer(result, options);
}

/** The programs that were found, by the value of `only`, because every search starts a program. */
const foundBefore = new Map<PostgresOptions["only"], PostgresBinaries>();

/**
 * Returns the programs that {@link startPostgres} runs.
 *
 * @throws NoServerError if PostgreSQL is not installed
 */
export function requirePostgres(options: PostgresOptions): PostgresBinaries {
  const isUsual = options.env === undefined && options.installedUnder === undefined;
  const before = isUsual ? foundBefore.get(options.only) : undefined;
  if (before !== undefined) return before;
  const variable = options.purpose === "test" ? "SVC_TEST_DATABASE_URL" : "DATABASE_URL";
  const attempts: Attempt[] = [
    { rung: variable, reason: "not set" },
    { rung: "a running server of this repository", reason: "none" },
  ];
  const { env = process.env, installedUnder, only } = options;
  const binaries = findPostgres(env, serverAccount(), attempts, installedUnder, only);
  if (binaries !== undefined) {
    if (isUsual) foundBefore.set(only, binaries);
    return binaries;
  }
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
  // Create the folder after starting the watchdog, so that the folder is removed even if this process is killed.
  const folder = options.dataDir ?? scratchFolder("svc-pg-");
  const data = join(folder, "data");
  const site: Site = { ...given, folder, data };
  const isTemporary = options.dataDir === undefined && options.purpose === "test";
  const base: Charge = {
    marker: data,
    signal: isTemporary ? "SIGQUIT" : "SIGINT",
    ...removalOf(isTemporary ? folder : undefined, infoFile),
  };
  watchdog.watch(base);
  const started = (pid: number): void => watchdog.watch({ ...base, pid });
  await initialise(site);
  await endOrphan(site);
  const running = await runServer(site, started);
  await createDatabase(running.port, options);
  if (isTemporary && infoFile !== undefined) await fillCaches(running.port, options);
  return server(site, watchdog, running, started, infoFile);
}

/**
 * Connects to template1. The first connection to a database writes cache files, which the databases of the tests then
 * get as copies.
 */
function fillCaches(port: number, { password }: PostgresOptions): Promise<unknown> {
  const config = { connectionString: urlOf(port, password, "template1"), connectionTimeoutMillis: 10_000 };
  return withClient(config, (client) => client.query("select"));
}

async function createDatabase(port: number, { database, password }: PostgresOptions): Promise<void> {
  if (database === undefined || database === "postgres") return;
  const config = { connectionString: urlOf(port, password, "postgres"), connectionTimeoutMillis: 10_000 };
  await withClient(config, async (client) => {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  });
}

function server(
  site: Site,
  watchdog: Watchdog,
  { pid, port }: Running,
  started: (pid: number) => void,
  infoFile: string | undefined,
): PostgresServer {
  const { folder, options, binaries } = site;
  const { version, source } = binaries;
  const url = databaseUrl(port, options);
  const info = { url, folder, pid, port, leasePort: watchdog.port, version, source };
  const publish = (): void => {
    if (infoFile !== undefined) writeWhole(infoFile, info);
  };
  publish();
  const control = controlOf(info, options, {
    joined: false,
    async restart() {
      await control.halt();
      await endOrphan(site);
      info.pid = (await runServer(site, started, port)).pid;
      publish();
    },
    // The watchdog stops the server unless another process holds a lease on it.
    stop: () => watchdog.finish(),
  });
  return control;
}

function joinedServer({ info, lease }: Joined, options: PostgresOptions): PostgresServer {
  return controlOf(info, options, {
    joined: true,
    restart: () => Promise.reject(new Error("only the process that started a server can restart it")),
    stop: () => Promise.resolve(lease.release()),
  });
}

function databaseUrl(port: number, { password, database = "postgres" }: PostgresOptions): string {
  return urlOf(port, password, database);
}

/** @param info its `pid` changes at every start */
function controlOf(
  info: ServerInfo,
  options: PostgresOptions,
  own: Pick<PostgresServer, "joined" | "restart" | "stop">,
): PostgresServer {
  const { port, version, source, folder } = info;
  return {
    url: databaseUrl(port, options),
    port,
    version,
    source,
    folder,
    get pid() {
      return info.pid;
    },
    ...faultsOf(() => info.pid),
    halt: () => endServer(info.pid, "SIGINT", 20_000),
    ...own,
    [Symbol.asyncDispose]: () => own.stop(),
  };
}
