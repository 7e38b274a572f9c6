import { createService, type Service } from "@svc/express";
import { type ExpensesOptions, expensesService } from "../../src/service.ts";

/** The service on a free port. Leaving the block stops it. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  readonly service: Service;
}

/** Starts the service on a database; its log lines go nowhere. */
export async function runService(databaseUrl: string, options?: ExpensesOptions): Promise<RunningService> {
  const service = await createService({
    ...expensesService({ SVC_PORT: "0", DATABASE_URL: databaseUrl }, options),
    signals: false,
    logDestination: { write: () => undefined },
  });
  await service.start();
  return {
    service,
    url: `http://127.0.0.1:${service.address?.port}`,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** For a `describe`: the service, started before the first test and stopped after the last. */
export function serviceFor(
  database: { readonly url: string },
  options?: ExpensesOptions,
): { readonly url: string } {
  let running: RunningService | undefined;
  before("the service", async () => {
    running = await runService(database.url, options);
  });
  after("stop the service", async () => {
    await running?.[Symbol.asyncDispose]();
  });
  return {
    get url() {
      if (running === undefined) throw new Error("the service runs only inside of tests and hooks");
      return running.url;
    },
  };
}
