import type { Environment } from "@svc/config";
import type { ReadinessCheck } from "@svc/context";
import { type Service, type ServiceOptions, startService } from "@svc/express";
import { ConfigurationError, type Fault } from "@svc/options";
import { demoTokenRoute, type DemoTokenSettings } from "./demo-token.ts";
import { routes } from "./routes.ts";
import { ensureExpenses } from "./schema.ts";

/** What the example adds to the options of a service. */
export interface ExpensesOptions {
  /** Whether the table, where it has to be made, gets demo data. Refused in `prod` (CFG-16). Default false. */
  readonly seed?: boolean | undefined;
  /** Whether `GET /demo/token` hands out tokens. Refused outside of `local` (CFG-16). Default false. */
  readonly demoTokens?: boolean | undefined;
}

/** How the service is put together; the tests use it without listening. */
export function expensesService(
  env: Environment,
  { seed = false, demoTokens = false }: ExpensesOptions = {},
): ServiceOptions {
  let prepare: (() => Promise<void>) | undefined;
  const table: ReadinessCheck = {
    name: "expenses",
    critical: true,
    async check() {
      // Whoever waits for the service to become ready makes the table, where the database came late.
      await prepare?.();
      return { healthy: true, detail: "the table is there" };
    },
  };
  return {
    config: new URL("../service.toml", import.meta.url),
    env,
    checks: [table],
    routes(app, service) {
      refuseDemo(service, { seed, demoTokens });
      const { db } = service;
      if (db === undefined) {
        throw new ConfigurationError("the expenses service", [
          { key: "plugins.enabled", message: "must contain database" },
        ]);
      }
      prepare = onceDone(async () => {
        const rows = await ensureExpenses(db, { seed });
        if (rows > 0) service.log.info({ rows }, "demo data written");
      });
      routes(app, service, { db, prepared: prepare, demoTokens });
      if (demoTokens) demoTokenRoute(app, tokenSettings(service));
    },
  };
}

/** Starts it, or ends the process with a reason. */
export function startExpenses(env: Environment, options?: ExpensesOptions): Promise<Service> {
  return startService(expensesService(env, options));
}

function refuseDemo({ config }: Service, { seed, demoTokens }: ExpensesOptions): void {
  const { env } = config.service;
  const faults: Fault[] = [];
  if (seed === true && env === "prod") {
    faults.push({ key: "seed", message: "demo data are refused in prod; start without them, or elsewhere" });
  }
  if (demoTokens === true && env !== "local") {
    faults.push({ key: "demoTokens", message: "tokens for whoever asks are for SVC_ENV=local only" });
  }
  if (faults.length > 0) throw new ConfigurationError("the expenses service", faults);
}

function tokenSettings({ config }: Service): DemoTokenSettings {
  const { auth } = config.plugin;
  if (auth?.secret !== undefined) return { ...auth, secret: auth.secret };
  const message = "must be secret: the tokens of the demo are signed with it";
  throw new ConfigurationError("the expenses service", [{ key: "plugin.auth.mode", message }]);
}

/** Runs it until it has succeeded once; whoever asks meanwhile waits for the same run. */
function onceDone(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= run().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
