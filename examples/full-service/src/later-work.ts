import type { Service, ServiceOptions } from "@svc/express";
import { countExpense } from "./activity.ts";
import type { Data } from "./data.ts";
import { importJob, type ImportJobOptions, importTask } from "./imports/job.ts";
import { pruneJob, pruneTask } from "./imports/prune.ts";
import { requestReceipt } from "./receipts.ts";
import { announcer, recorded } from "./recorded.ts";

/** Options of {@link laterWork}. */
export interface LaterWorkOptions extends Pick<ImportJobOptions, "stepRows"> {
  /** Whether each recorded expense gets a receipt of the receipts service. */
  readonly withReceipts: boolean;
}

/** Returns the background work, for the worker of this process or of another process. */
export function laterWork(
  dataOf: (service: Service) => Data,
  { stepRows, withReceipts }: LaterWorkOptions,
): Pick<ServiceOptions, "jobs" | "subscribers" | "schedules"> {
  return {
    jobs: {
      [importTask](payload, job, service) {
        const { events, ...data } = dataOf(service);
        return importJob({ ...data, announce: announcer(events), stepRows })(payload, job);
      },
      [pruneTask]: (payload, job, service) => pruneJob(dataOf(service))(payload, job),
    },
    subscribers: {
      [recorded]: {
        async activity({ id, tenant_id: tenant, occurred_at: occurredAt }, _job, service) {
          const { db, inbox, prepared } = dataOf(service);
          await prepared();
          await db.withTenant(tenant, (tx) =>
            inbox.once(tx, "activity", id, () => countExpense(tx, tenant, occurredAt)),
          );
        },
        ...(withReceipts && { receipt: (event, _job, service) => requestReceipt(service, event) }),
      },
    },
    schedules: {
      "prune-imports": { cron: "30 3 * * *", zone: "Europe/Berlin", task: pruneTask },
    },
  };
}
