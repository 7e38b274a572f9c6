import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { Service } from "@svc/express";
import type { JobTable } from "@svc/job-table";
import type { BoundRollup, Rollup } from "@svc/rollups";
import { ConfigurationError, type Fault } from "@svc/options";
import { onceDone } from "./once-done.ts";
import { ensureExpenses } from "./schema.ts";

/** The data that requests and jobs use. */
export interface Data {
  readonly db: Database;
  readonly jobs: JobTable;
  readonly events: Events;
  readonly inbox: Inbox;
  /** The rollup of spending by month. */
  readonly totals: BoundRollup;
  /**
   * Resolves when the tables exist. Requests and jobs call it each time, because the database may start after the service.
   */
  readonly prepared: () => Promise<void>;
}

/** The initial content of the tables, and the rollup of spending by month. */
export interface DataOptions {
  readonly seed?: boolean | undefined;
  readonly demoUsers?: boolean | undefined;
  readonly monthly: Rollup;
}

/** @throws ConfigurationError without a database, or for demo data in `prod` */
export function dataIn(service: Service, options: DataOptions): Data {
  refuseDemo(service, options);
  const { db, jobs, events, inbox, log } = service;
  const totals = service.rollups?.["monthly"];
  if (!db || !jobs || !events || !inbox || !totals) {
    throw new ConfigurationError("the expenses service", [
      { key: "plugins.enabled", message: "must contain database, queue, events and rollups" },
    ]);
  }
  return {
    db,
    jobs,
    events,
    inbox,
    totals,
    prepared: onceDone(async () => {
      const rows = await ensureExpenses(db, options.monthly, { seed: options.seed === true });
      if (rows > 0) log.info({ rows }, "demo data written");
    }),
  };
}

function refuseDemo({ config }: Service, { seed, demoUsers }: DataOptions): void {
  if (config.service.env !== "prod") return;
  const faults: Fault[] = [];
  if (seed === true) {
    faults.push({ key: "seed", message: "demo data are refused in prod; start without them" });
  }
  if (demoUsers === true) {
    const message = "demo users are refused in prod, since their password is public; start without them";
    faults.push({ key: "demoUsers", message });
  }
  if (faults.length > 0) throw new ConfigurationError("the expenses service", faults);
}
