import { createService, type Service, type ServiceOptions } from "@svc/express";
import { serviceUrl } from "../../src/database-role.ts";
import { type ExpensesOptions, expensesService } from "../../src/service.ts";
import { authEnv } from "./caller.ts";
import { cheapCost } from "./cheap-cost.ts";

/** The service on a free port. Leaving the block stops it. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  readonly service: Service;
  /** Its log lines so far. */
  readonly log: readonly string[];
}

/**
 * Starts the service on a database.
 *
 * @param config replaces the configuration file of the example
 */
export async function runService(
  databaseUrl: string,
  options?: ExpensesOptions,
  env: Readonly<Record<string, string>> = {},
  config?: ServiceOptions["config"],
): Promise<RunningService> {
  const log: string[] = [];
  const service = await createService({
    ...expensesService(
      { SVC_PORT: "0", DATABASE_URL: databaseUrl, ...authEnv, ...env },
      { passwords: { cost: cheapCost }, ...options },
    ),
    ...(config === undefined ? {} : { config }),
    signals: false,
    logDestination: { write: (line) => void log.push(line) },
  });
  await service.start();
  return {
    service,
    log,
    url: `http://127.0.0.1:${service.address?.port}`,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** The running service of a `describe`. */
export interface DescribedService {
  readonly url: string;
  /** The URL of its database, as a role that row security applies to. */
  readonly databaseUrl: string;
}

/**
 * For a `describe`: starts the service with its own database role before the first test and stops it after the last.
 */
export function serviceFor(
  database: { readonly url: string },
  options?: ExpensesOptions,
  env?: Readonly<Record<string, string>>,
): DescribedService {
  let running: RunningService | undefined;
  let databaseUrl = "";
  before("the service", async () => {
    databaseUrl = await serviceUrl(database.url);
    running = await runService(databaseUrl, options, env);
  });
  after("stop the service", async () => {
    await running?.[Symbol.asyncDispose]();
  });
  return {
    get url() {
      if (running === undefined) throw new Error("the service runs only inside of tests and hooks");
      return running.url;
    },
    get databaseUrl() {
      return databaseUrl;
    },
  };
}
