import type { Subscriber } from "@svc/events";
import type { JobHandler, JobTableOptions } from "@svc/job-table";
import type { Schedules } from "@svc/scheduler";

/** The role of a process: answer requests, run background work, or both. */
export type ServiceRole = "server" | "worker" | "both";

/** The database of the jobs. */
export type JobDatabase = JobTableOptions["db"];

/** The resolved options of a service about jobs; the functions get the service as their last argument. */
export interface JobCode {
  readonly jobs: Readonly<Record<string, JobHandler>>;
  readonly subscribers: Readonly<Record<string, Readonly<Record<string, Subscriber>>>>;
  readonly schedules: Schedules;
  readonly role: ServiceRole;
  readonly db: JobDatabase | undefined;
}
