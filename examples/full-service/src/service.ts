import type { Environment } from "@svc/config";
import type { ReadinessCheck } from "@svc/context";
import type { Service, ServiceOptions } from "@svc/express";
import { ConfigurationError, type Fault } from "@svc/options";
import { accounts, type Accounts } from "./accounts.ts";
import { pageErrors } from "./page-errors.ts";
import { createPasswords, type PasswordsOptions } from "./passwords.ts";
import { routes } from "./routes.ts";
import { ensureExpenses } from "./schema.ts";
import { lateStore } from "./session-store.ts";

/** What the example adds to the options of a service. */
export interface ExpensesOptions {
  /** Whether the table, where it has to be made, gets demo data. Refused in `prod` (CFG-16). Default false. */
  readonly seed?: boolean | undefined;
  /**
   * Whether the table of users, where it has to be made, gets people of the demo, whose password the pages show.
   * Refused in `prod` (CFG-17). Default false.
   */
  readonly demoUsers?: boolean | undefined;
  /** How passwords are kept. Default: as `createPasswords()` does by itself. */
  readonly passwords?: PasswordsOptions | undefined;
}

/** How the service is put together; the tests use it without listening. */
export function expensesService(
  env: Environment,
  { seed = false, demoUsers = false, passwords: kept }: ExpensesOptions = {},
): ServiceOptions {
  const passwords = createPasswords(kept);
  let prepare: (() => Promise<void>) | undefined;
  let people: Accounts | undefined;
  const table: ReadinessCheck = {
    name: "expenses",
    critical: true,
    async check() {
      // Whoever waits for the service to become ready makes the tables, where the database came late.
      await prepare?.();
      return { healthy: true, detail: "the tables are there" };
    },
  };

  /** The parts that need the service. They are asked by requests, and those come later than the service. */
  function ofPeople(): Accounts {
    if (people === undefined) throw new Error("the service has no routes yet");
    return people;
  }

  return {
    config: new URL("../service.toml", import.meta.url),
    env,
    checks: [table],
    auth: {
      tokenFrom: (req) => ofPeople().cookies.accessTokenOf(req),
      revocation: lateStore(() => ofPeople().store),
      onRefresh: (principal, signal) => ofPeople().onRefresh(principal, signal),
      onIdentity: (identity, req, res) => ofPeople().onIdentity(identity, req, res),
    },
    routes(app, service) {
      refuseDemo(service, { seed, demoUsers });
      const { db } = service;
      if (db === undefined) {
        throw new ConfigurationError("the expenses service", [
          { key: "plugins.enabled", message: "must contain database" },
        ]);
      }
      const made = accounts(service, { db, passwords, demoUsers, prepared: () => prepared() });
      const prepared = onceDone(async () => {
        const rows = await ensureExpenses(db, { seed });
        if (rows > 0) service.log.info({ rows }, "demo data written");
        await made.ensureTables();
      });
      prepare = prepared;
      people = made;
      routes(app, service, { db, prepared, demoUsers });
      made.routes(app);
      app.use(pageErrors);
    },
  };
}

function refuseDemo({ config }: Service, { seed, demoUsers }: ExpensesOptions): void {
  if (config.service.env !== "prod") return;
  const faults: Fault[] = [];
  if (seed === true) {
    faults.push({ key: "seed", message: "demo data are refused in prod; start without them, or elsewhere" });
  }
  if (demoUsers === true) {
    const message =
      "people whose password everybody knows are refused in prod; start without them, or elsewhere";
    faults.push({ key: "demoUsers", message });
  }
  if (faults.length > 0) throw new ConfigurationError("the expenses service", faults);
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
