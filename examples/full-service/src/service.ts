import type { Environment } from "@svc/config";
import type { ReadinessCheck } from "@svc/context";
import type { Service, ServiceOptions } from "@svc/express";
import { accounts, type Accounts } from "./accounts.ts";
import { type Data, dataIn } from "./data.ts";
import { describedService } from "./described-service.ts";
import type { FileLimits } from "./imports/file.ts";
import type { ImportJobOptions } from "./imports/job.ts";
import { importRoutes } from "./imports/routes.ts";
import { laterWork } from "./later-work.ts";
import { onceDone } from "./once-done.ts";
import { pageErrors } from "./page-errors.ts";
import { createPasswords, type PasswordsOptions } from "./passwords.ts";
import { announcer } from "./recorded.ts";
import { reportRoutes } from "./reports/routes.ts";
import { monthlyTotals } from "./reports/totals.ts";
import { routes } from "./routes.ts";
import { demoEmbed, embedderName } from "./search/demo-embedder.ts";
import { searchRoutes } from "./search/routes.ts";
import { serviceSearch } from "./search/search.ts";
import { lateStore } from "./session-store.ts";

/** Options of the example in addition to those of a service. */
export interface ExpensesOptions {
  /** Whether a newly created table gets demo data. Refused in `prod` (CFG-16). Default false. */
  readonly seed?: boolean | undefined;
  /**
   * Whether a newly created table of users gets the demo users, whose password the pages show. Refused in `prod`
   * (CFG-17). Default false.
   */
  readonly demoUsers?: boolean | undefined;
  /** Settings for hashing passwords. Default: the defaults of `createPasswords()`. */
  readonly passwords?: PasswordsOptions | undefined;
  /** Limits of a file of expenses, and rows per step. Default: the defaults of `readFile()` and `importJob()`. */
  readonly imports?: (FileLimits & Pick<ImportJobOptions, "stepRows">) | undefined;
  /** Time zone of the months of the totals; a change recomputes all of them. Default `UTC`. */
  readonly timeZone?: string | undefined;
  /**
   * The folder of the embedded database for the search, used when the database server has no pgvector. Default: that of
   * the variable `SEARCH_FOLDER`; without one there is no search.
   */
  readonly embeddedSearch?: { readonly dataDir: string } | undefined;
  /** Whether the search is opened in the background at startup, instead of at first use. Default false. */
  readonly openSearch?: boolean | undefined;
  /** Whether each recorded expense gets a receipt from the upstream `receipts` of `[plugin.http]`. Default false. */
  readonly withReceipts?: boolean | undefined;
  /** The role of this process. Default: it serves requests and runs jobs. */
  readonly role?: ServiceOptions["role"];
}

/** Returns the options for `createService()`. */
export function expensesService(env: Environment, options: ExpensesOptions = {}): ServiceOptions {
  const { demoUsers = false, embeddedSearch } = options;
  const passwords = createPasswords(options.passwords);
  const monthly = monthlyTotals(options.timeZone ?? "UTC");
  let data: Data | undefined;
  let prepare: (() => Promise<void>) | undefined;
  let people: Accounts | undefined;
  let running: Service | undefined;
  const table: ReadinessCheck = {
    name: "expenses",
    critical: true,
    async check() {
      // If the database started late, the readiness check creates the tables.
      await (prepare ?? data?.prepared)?.();
      return { healthy: true, detail: "the tables exist" };
    },
  };

  function dataOf(service: Service): Data {
    data ??= dataIn(service, { ...options, monthly });
    return data;
  }

  /** Returns the parts that need the service. Only requests call it, when the service already exists. */
  function ofPeople(): Accounts {
    if (people === undefined) throw new Error("the service has no routes yet");
    return people;
  }

  return {
    config: new URL("../service.toml", import.meta.url),
    env: embeddedSearch === undefined ? env : { ...env, SEARCH_FOLDER: embeddedSearch.dataDir },
    role: options.role,
    checks: [table],
    auth: {
      tokenFrom: (req) => ofPeople().cookies.accessTokenOf(req),
      revocation: lateStore(() => ofPeople().store),
      onRefresh: (principal, signal) => ofPeople().onRefresh(principal, signal),
      onIdentity: (identity, req, res) => ofPeople().onIdentity(identity, req, res),
    },
    openapi: describedService({
      secure: ["staging", "prod"].includes(env["SVC_ENV"]?.trim() ?? ""),
      service: () => running,
    }),
    rollups: { monthly },
    rag: { embed: demoEmbed, embedder: embedderName },
    queue: { guard: (req, res, next) => ofPeople().operators(req, res, next) },
    ...laterWork(dataOf, { ...options.imports, withReceipts: options.withReceipts === true }),
    routes(app, service) {
      const { db, jobs, events, totals, prepared: preparedData } = dataOf(service);
      running = service;
      const made = accounts(service, { db, passwords, demoUsers, prepared: () => prepared() });
      const prepared = onceDone(async () => {
        await preparedData();
        await made.ensureTables();
        if (options.openSearch === true) texts.openSoon();
      });
      prepare = prepared;
      people = made;
      const texts = serviceSearch(service, { db, prepared, seed: options.seed === true });
      routes(app, service, { db, prepared, announce: announcer(events), totals, demoUsers });
      importRoutes(app, { db, jobs, prepared, limits: options.imports });
      searchRoutes(app, { db, prepared, search: texts });
      reportRoutes(app, { db, prepared, totals, search: texts, visitors: made.visitors });
      made.routes(app);
      app.use(pageErrors);
    },
  };
}
