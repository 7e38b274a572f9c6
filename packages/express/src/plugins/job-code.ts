import type { Middleware } from "@svc/context";
import type { JobContext, JobHandler, JobTableOptions } from "@svc/job-table";
import type { Schedules } from "@svc/scheduler";
import { ConfigurationError } from "@svc/options";
import type { Service } from "../service.ts";

// A method's parameters may be narrower than its type says: a handler names the payload that it expects.
interface Handlers {
  job(payload: unknown, job: JobContext, service: Service): unknown;
}

/** Does the work of a task: as of `@svc/job-table`, with the service as its third argument. */
export type ServiceJobHandler = Handlers["job"];

/** For every task its handler. */
export type ServiceJobs = Readonly<Record<string, ServiceJobHandler>>;

/** What a process does: answer requests, run what waits, or both. */
export type Role = "server" | "worker" | "both";

/** Where jobs stand. */
export type JobDatabase = JobTableOptions["db"];

/** What an application adds to `[plugin.queue]` in code. */
export interface QueueCode {
  /**
   * Decides who sees the page of the queue, and retries dead jobs (JOB-32). Default: in `local` everybody, elsewhere who has
   * the role `admin`.
   */
  readonly guard?: Middleware | undefined;
}

/** What of the options of a service is about jobs. */
export interface JobCode {
  readonly jobs: ServiceJobs;
  readonly schedules: Schedules;
  readonly role: Role;
  readonly guard: Middleware | undefined;
  readonly db: JobDatabase | undefined;
}

/** The handlers as a worker takes them. */
export function boundJobs(jobs: ServiceJobs, serviceOf: () => Service): Record<string, JobHandler> {
  return Object.fromEntries(
    Object.entries(jobs).map(([task, handler]) => [
      task,
      (payload: unknown, job: JobContext) => handler.call(jobs, payload, job, serviceOf()),
    ]),
  );
}

/** @throws ConfigurationError for code that the configuration makes useless */
export function refuseUseless(option: string, plugin: string): never {
  const message = `is of no use without the plugin ${plugin}; enable it, or take ${option} away`;
  throw new ConfigurationError("createService()", [{ key: option, message }]);
}
