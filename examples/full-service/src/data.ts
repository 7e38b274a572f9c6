import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { Service } from "@svc/express";
import type { JobTable } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import { onceDone } from "./once-done.ts";
import { ensureExpenses } from "./schema.ts";

/** What requests and jobs stand on. */
export interface Data {
  readonly db: Database;
  readonly jobs: JobTable;
  readonly events: Events;
  readonly inbox: Inbox;
  /** Resolves once the tables are there; asked every time, because the database may come later than the service. */
  readonly prepared: () => Promise<void>;
}

/** What of a demo is asked for. */
export interface Demo {
  readonly seed?: boolean | undefined;
  readonly demoUsers?: boolean | undefined;
}

/** @throws ConfigurationError without a database, and for a demo in `prod` */
export function dataIn(service: Service, demo: Demo): Data {
  refuseDemo(service, demo);
  const { db, jobs, events, inbox, log } = service;
  if (db === undefined || jobs === undefined || events === undefined || inbox === undefined) {
    throw new ConfigurationError("the expenses service", [
      { key: "plugins.enabled", message: "must contain database, queue and events" },
    ]);
  }
  return {
    db,
    jobs,
    events,
    inbox,
    prepared: onceDone(async () => {
      const rows = await ensureExpenses(db, { seed: demo.seed === true });
      if (rows > 0) log.info({ rows }, "demo data written");
    }),
  };
}

function refuseDemo({ config }: Service, { seed, demoUsers }: Demo): void {
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
