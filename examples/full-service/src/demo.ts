import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { configurationExitCode, loadConfig, ports, type ServiceSettings } from "@svc/config";
import {
  demoFolder,
  demoPostgres,
  type DemoPostgres,
  demoRedis,
  type DemoRedis,
  freePort,
} from "@svc/dev-services";
import type { Service } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { configuration } from "./configuration.ts";
import type { DemoProvider } from "./demo-provider.ts";
import { requireFree } from "./free-port.ts";
import type { ExpensesOptions } from "./service.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Options of {@link startDemo}. */
export interface StartDemoOptions {
  /** The folder of the checkout that the database's files belong to. */
  readonly checkout: string;
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Whether the search is opened when the service starts, instead of at first use. Default: true unless `PUBLIC_PORT` is set. */
  readonly openSearch?: boolean | undefined;
  /** Settings for hashing the passwords of the demo users. Default: the service's own settings. */
  readonly passwords?: ExpensesOptions["passwords"];
}

/**
 * Starts the service with demo data: on the PostgreSQL of `DATABASE_URL`, or else on its own PostgreSQL, which listens on
 * the port after the service's and keeps its files (PORT-4, PORT-6). `PUBLIC_PORT` is the port of a gateway in front of the
 * service, `RECEIPTS_ORIGIN` the origin of the receipts service, without which expenses get no receipts. An error at the
 * start is written to standard error and ends the process: with exit code 2 for an invalid configuration, else with 1.
 */
export async function startDemo({
  checkout,
  env = process.env,
  // Behind a gateway, three services start concurrently, and the search needs seconds.
  openSearch = !env["PUBLIC_PORT"],
  passwords,
}: StartDemoOptions): Promise<void> {
  try {
    const { service } = loadConfig({ env: { ...env, SVC_APP_NAME: "expenses" } });
    if (env["DATABASE_URL"]) {
      // Do not add demo data to the database of an environment other than local.
      const isLocal = service.env === "local";
      const withSecret = isLocal ? { ...env, SVC_AUTH_SECRET: secretFor(env) } : env;
      // Outside of local, several replicas may run, and they cannot share the temporary search index of one process.
      const search = isLocal ? { embeddedSearch: { dataDir: temporaryFolder("search") }, openSearch } : {};
      const demo = { seed: isLocal, demoUsers: isLocal, passwords, ...search };
      const started = await start(service, withSecret, demo);
      if (!env["PUBLIC_PORT"]) await tellWhereToLook(started);
      return;
    }
    if (service.env === "prod") throw new ConfigurationError("the demo", [noDemoInProduction]);
    await requireFree(service.port, service.host);
    await startWithDatabase(checkout, service, env, { openSearch, passwords });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(error instanceof ConfigurationError ? configurationExitCode : 1);
  }
}

const noDemoInProduction = {
  key: "DATABASE_URL",
  message: "must be set if SVC_ENV is prod: the demo's own database and data are not for production",
};

async function startWithDatabase(
  checkout: string,
  settings: ServiceSettings,
  env: NodeJS.ProcessEnv,
  options: Pick<ExpensesOptions, "openSearch" | "passwords">,
): Promise<void> {
  const { port } = settings;
  process.stderr.write("starting PostgreSQL; the first start creates its files, which takes a few seconds\n");
  const databasePort = port === 0 ? await freePort() : ports(port).database;
  const postgres = await demoPostgres({ checkout, servicePort: databasePort - 1, database: "expenses", env });
  process.stderr.write(`${postgres.description}\n`);
  const redis = await startRedis(checkout, port === 0 ? (await freePort()) - 3 : port, env, postgres);
  const { serviceUrl } = await import("./database-role.ts");
  const service = await start(
    settings,
    {
      ...env,
      SVC_AUTH_SECRET: secretFor(env),
      DATABASE_URL: await serviceUrl(postgres.url),
      REDIS_URL: redis?.url,
    },
    {
      seed: true,
      demoUsers: true,
      embeddedSearch: { dataDir: join(demoFolder(checkout), "search") },
      ...options,
    },
  );
  service.onStop("close", async () => {
    // Close the connections before the database server stops; a second stop has no effect.
    await Promise.all([service.db?.stop(), service.cache?.stop()]);
    await redis?.stop();
    await postgres.stop();
  });
  await tellWhereToLook(service);
}

/** The message of a demo without Redis. */
export const noRedis =
  "no redis-server or valkey-server on PATH: the demo has neither a cache nor rate limits";

/** Starts the demo's Redis if one is installed. Stops PostgreSQL if it cannot be started. */
async function startRedis(
  checkout: string,
  servicePort: number,
  env: NodeJS.ProcessEnv,
  postgres: DemoPostgres,
): Promise<DemoRedis | undefined> {
  try {
    const redis = await demoRedis({ checkout, servicePort, env });
    process.stderr.write(`${redis?.description ?? noRedis}\n`);
    return redis;
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** Starts the service; in `local` together with a demo provider. */
async function start(
  { port, env: environment }: ServiceSettings,
  env: NodeJS.ProcessEnv,
  options: ExpensesOptions,
): Promise<Service> {
  // Import late, so that a wrong variable or a port in use is reported immediately.
  const [{ startService }, { expensesService }] = await Promise.all([
    import("@svc/express"),
    import("./service.ts"),
  ]);
  // The demo provider lets a visitor sign in as any user, so it runs only in local; it must know the port of the
  // callback.
  if (environment !== "local" || port === 0) return startService(expensesService(env, options));
  // Behind a gateway, browsers use the gateway's port.
  const redirectUri = `http://localhost:${env["PUBLIC_PORT"] || port}/auth/demo/callback`;
  const { startDemoProvider } = await import("./demo-provider.ts");
  const provider: DemoProvider = await startDemoProvider({ redirectUris: [redirectUri] });
  const withTraces = env["SVC_TELEMETRY_ENDPOINT"] ? env : { ...env, TRACES_EXPORTER: "memory" };
  const receiptsUrl = env["RECEIPTS_ORIGIN"] || undefined;
  const expenses = expensesService(withTraces, { ...options, withReceipts: receiptsUrl !== undefined });
  const hasRedis = Boolean(env["REDIS_URL"]);
  const config = configuration({ demo: { provider, redirectUri }, hasRedis, receiptsUrl });
  const service = await startService({ ...expenses, config });
  service.onStop("close", () => provider.stop());
  return service;
}

// A new secret at every start, so that tokens of a demo are valid neither in other services nor after a restart.
function secretFor(env: NodeJS.ProcessEnv): string {
  return env["SVC_AUTH_SECRET"] || randomBytes(32).toString("base64url");
}

type Checks = Awaited<ReturnType<Service["health"]["report"]>>["checks"];

/** Returns whether the failing checks will become healthy by themselves within seconds. */
function isOnItsWay(checks: Checks): boolean {
  // On a busy machine hashing the demo passwords takes longer than the timeout of a check.
  if (checks["expenses"]?.status === "timeout") return true;
  // Worker and scheduler start a moment after the server; the totals are checked again a moment after the tables exist.
  const isLate = ["worker", "scheduler", "rollups"].some((name) => checks[name]?.healthy === false);
  return isLate && checks["database"]?.healthy === true;
}

async function tellWhereToLook({ address, health }: Service): Promise<void> {
  // The report creates the tables before the first request. Waiting for the report also lets the log lines of the start
  // appear before the message below.
  let { checks } = await health.report();
  for (let tries = 1; isOnItsWay(checks) && tries < 20; tries++) {
    await sleep(250);
    ({ checks } = await health.report());
  }
  const failing = Object.entries(checks).filter(([, check]) => !check.healthy);
  const url = `http://localhost:${address?.port}/`;
  const not = failing.map(([name, check]) => `  Not ready yet: ${name} (${check.detail}); see ${url}ready\n`);
  process.stderr.write(`\n  Open ${url}   (Ctrl-C stops everything)\n${not.join("")}\n`);
}
