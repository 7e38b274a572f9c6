import type { Environment } from "@svc/config";
import type { Database } from "@svc/database";
import { type Service, type ServiceOptions, startService } from "@svc/express";
import { routes } from "./routes.ts";
import { ensureExpenses } from "./schema.ts";
import { seedDemoData } from "./seed.ts";

/** How the service is put together; the tests use it without listening. */
export function expensesService(env: Environment, { seed = false } = {}): ServiceOptions {
  return {
    config: new URL("../service.toml", import.meta.url),
    env,
    async routes(app, service) {
      const { db } = service;
      if (db === undefined) throw new Error("the service needs plugin database");
      if (seed && service.config.service.env === "prod") {
        throw new Error("demo data are not for production: start without them, or with another SVC_ENV");
      }
      const schema = preparation(db, service, seed);
      routes(app, db, schema);
      // Done before the first request where the database is there; where it is not, requests ask again.
      await schema().catch((err: unknown) => service.log.warn({ err }, "the table is not there yet"));
    },
  };
}

/** Starts it, or ends the process with a reason. */
export function startExpenses(env: Environment, options?: { readonly seed?: boolean }): Promise<Service> {
  return startService(expensesService(env, options));
}

/** The table and the demo's rows, made once; a failure is not remembered, so that the next request tries again. */
function preparation(db: Database, service: Service, seed: boolean): () => Promise<void> {
  let done: Promise<void> | undefined;
  async function prepare(): Promise<void> {
    await ensureExpenses(db);
    if (!seed) return;
    const rows = await seedDemoData(db);
    if (rows > 0) service.log.info({ rows }, "demo data written");
  }
  return () => {
    done ??= prepare().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
