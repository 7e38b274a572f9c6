import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { Service } from "@svc/express";
import type { JobTable } from "@svc/job-table";
import type { Rollup } from "@svc/rollups";
import { ConfigurationError, type Fault } from "@svc/options";
import { onceDone } from "./once-done.ts";
import { monthlyTotals } from "./reports/totals.ts";
import { ensureExpenses } from "./schema.ts";

/** What requests and jobs stand on. */
export interface Data {
  readonly db: Database;
  readonly jobs: JobTable;
  readonly events: Events;
  readonly inbox: Inbox;
  /** What was spent by month. */
  readonly totals: Rollup;
  /** Resolves once the tables are there; asked every time, because the database may come later than the service. */
  readonly prepared: () => Promise<void>;
}

/** What is to be in the tables. */
export interface DataOptions {
  readonly seed?: boolean | undefined;
  readonly demoUsers?: boolean | undefined;
  /** Whose months the totals have. */
  readonly timeZone?: string | undefined;
}

/** @throws ConfigurationError without a database, and for a demo in `prod` */
export function dataIn(service: Service, options: DataOptions): Data {
  refuseDemo(service, options);
  const { db, jobs, events, inbox, log } = service;
  if (db === undefined || jobs === undefined || events === undefined || inbox === undefined) {
    throw new ConfigurationError("the expenses service", [
      { key: "plugins.enabled", message: "must contain database, queue and events" },
    ]);
  }
  const totals = monthlyTotals(options.timeZone ?? "UTC");
  return {
    db,
    jobs,
    events,
    inbox,
    totals,
    prepared: onceDone(async () => {
      const rows = await ensureExpenses(db, totals, { seed: options.seed === true });
      if (rows > 0) log.info({ rows }, "demo data written");
    }),
  };
}

function refuseDemo({ config }: Service, { seed, demoUsers }: DataOptions): void {
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
