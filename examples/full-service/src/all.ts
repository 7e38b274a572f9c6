import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { configurationExitCode, highestBasePort, loadConfig, ports } from "@svc/config";
import { createDatabase } from "@svc/database";
import { demoPostgres, demoRedis } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { noRedis } from "./demo.ts";
import { requireFree } from "./free-port.ts";

/** Options of {@link startAll}. */
export interface StartAllOptions {
  /** The folder of the checkout that the database's files belong to. */
  readonly checkout: string;
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** The services, each with the offset of its first port from the gateway's first port. */
const blocks = { gateway: 0, expenses: 10, receipts: 20 } as const;

type Name = keyof typeof blocks;

interface Child {
  readonly name: Name;
  readonly process: ChildProcess;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const scripts: Readonly<Record<Name, string>> = {
  gateway: scriptOf("../../gateway-service/start.ts"),
  expenses: scriptOf("../start.ts"),
  receipts: scriptOf("../../receipts-service/start.ts"),
};

function scriptOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Starts the gateway, the expenses service and the receipts service as processes, with one PostgreSQL server that has a
 * database for each service. SIGINT, SIGTERM and SIGHUP end all of them, and so does the end of any process. An error at
 * the start is written to standard error and ends the process: with exit code 2 for an invalid configuration, else with 1.
 */
export async function startAll({ checkout, env = process.env }: StartAllOptions): Promise<void> {
  try {
    await run(checkout, env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof ConfigurationError ? configurationExitCode : 1;
  }
}

async function run(checkout: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { service } = loadConfig({ env: { ...env, SVC_APP_NAME: "gateway" } });
  if (service.env !== "local") throw refused("SVC_ENV", "must be local: three services with demo data");
  if (env["DATABASE_URL"]) throw refused("DATABASE_URL", "must not be set: --all starts its own PostgreSQL");
  if (service.port === 0) throw refused("SVC_PORT", "must not be 0: each service has ten ports of its own");
  const highest = highestBasePort - blocks.receipts;
  if (service.port > highest)
    throw refused("SVC_PORT", `must be at most ${highest}: three services have 30 ports`);
  const portOf = (name: Name): number => ports(service.port + blocks[name]).http;
  const urlOf = (name: Name): string => `http://127.0.0.1:${portOf(name)}`;
  for (const name of names()) await requireFree(portOf(name), service.host);
  process.stderr.write("starting PostgreSQL; the first start creates its files, which takes a few seconds\n");
  await using postgres = await demoPostgres({
    checkout,
    servicePort: portOf("expenses"),
    database: "expenses",
    env,
  });
  process.stderr.write(`${postgres.description}\n`);
  await using redis = await demoRedis({ checkout, servicePort: portOf("expenses"), env });
  process.stderr.write(`${redis?.description ?? noRedis}\n`);
  const { serviceUrl } = await import("./database-role.ts");
  const SVC_AUTH_SECRET = env["SVC_AUTH_SECRET"] || randomBytes(32).toString("base64url");
  const RECEIPTS_ORIGIN = urlOf("receipts");
  const own: Readonly<Record<Name, NodeJS.ProcessEnv>> = {
    gateway: { EXPENSES_ORIGIN: urlOf("expenses"), RECEIPTS_ORIGIN },
    expenses: {
      SVC_AUTH_SECRET,
      DATABASE_URL: await serviceUrl(postgres.url),
      REDIS_URL: redis?.url,
      PUBLIC_PORT: String(portOf("gateway")),
      RECEIPTS_ORIGIN,
    },
    receipts: {
      SVC_AUTH_SECRET,
      DATABASE_URL: await serviceUrl(await databaseFor("receipts", postgres.url)),
    },
  };
  const traces = env["SVC_TELEMETRY_ENDPOINT"] ? {} : { TRACES_EXPORTER: "memory" };
  const children = names().map((name) => ({
    name,
    process: spawn(process.execPath, [...process.execArgv, scripts[name]], {
      env: { ...env, ...traces, ...own[name], SVC_PORT: String(portOf(name)) },
      stdio: ["ignore", "inherit", "inherit"],
      // In a terminal, Ctrl-C then reaches only this process, which ends the services in order.
      detached: true,
    }),
  }));
  await untilEnd(children, async (signal) => {
    for (const name of names()) await untilReady(urlOf(name), signal);
    process.stderr.write(`\n  Open http://localhost:${portOf("gateway")}/   (Ctrl-C stops everything)\n\n`);
  });
}

function names(): readonly Name[] {
  return Object.keys(blocks) as Name[];
}

function refused(key: string, message: string): ConfigurationError {
  return new ConfigurationError("npm start -- --all", [{ key, message }]);
}

/** Creates a database on the server of a URL if it is missing, and returns its URL. */
async function databaseFor(name: string, url: string): Promise<string> {
  await using db = createDatabase({ url, applicationName: "receipts-setup", max: 1 });
  const { rows } = await db.query("select from pg_database where datname = $1", [name]);
  if (rows.length === 0) await db.query(`create database ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/ready`, { signal }).catch(() => undefined);
    signal.throwIfAborted();
    if (response?.status === 200) return;
    await sleep(100, undefined, { signal });
  }
}

/**
 * Resolves when all processes have ended. When the first process ends or a signal arrives, ends the others: the gateway
 * first, so that no request fails. A second signal kills them.
 *
 * @param work runs while the processes run; its signal aborts when the first process ends
 */
async function untilEnd(
  children: readonly Child[],
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const interrupted = (): void => {
    if (ending.signal.aborted) for (const { process: child } of children) child.kill("SIGKILL");
    ending.abort();
  };
  for (const signal of signals) process.on(signal, interrupted);
  const ended = children.map(async ({ name, process: child }) => {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    if (!ending.signal.aborted) {
      process.stderr.write(`the ${name} service ended with ${code ?? signal}; stopping the others\n`);
    }
    ending.abort();
  });
  const working = work(ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  if (!ending.signal.aborted) await once(ending.signal, "abort");
  for (const [index, { process: child }] of children.entries()) {
    child.kill("SIGTERM");
    await ended[index];
  }
  await working;
  for (const signal of signals) process.off(signal, interrupted);
  if (children.some(({ process: child }) => child.exitCode !== 0)) process.exitCode = 1;
}
