import type { Middleware } from "@svc/context";
import type { JobContext, JobHandler, JobTableOptions } from "@svc/job-table";
import type { EventEnvelope, Subscriber } from "@svc/events";
import type { Schedules } from "@svc/scheduler";
import type { Service } from "../service.ts";

// A method's parameters may be narrower than its type says: a handler names the payload that it expects.
interface Handlers {
  job(payload: unknown, job: JobContext, service: Service): unknown;
  subscriber(event: EventEnvelope, job: JobContext, service: Service): unknown;
}

/** Does the work of a task: as of `@svc/job-table`, with the service as its third argument. */
export type ServiceJobHandler = Handlers["job"];

/** For every task its handler. */
export type ServiceJobs = Readonly<Record<string, ServiceJobHandler>>;

/** Does what has to be done about an event: as of `@svc/events`, with the service as its third argument. */
export type ServiceSubscriber = Handlers["subscriber"];

/** For every type of event its subscribers, by names that stay the same. */
export type ServiceSubscribers = Readonly<Record<string, Readonly<Record<string, ServiceSubscriber>>>>;

/** What a process does: answer requests, run what waits, or both. */
export type ServiceRole = "server" | "worker" | "both";

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
  readonly subscribers: ServiceSubscribers;
  readonly schedules: Schedules;
  readonly role: ServiceRole;
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

/** The subscribers as `createEvents()` takes them. */
export function boundSubscribers(
  subscribers: ServiceSubscribers,
  serviceOf: () => Service,
): Record<string, Record<string, Subscriber>> {
  return Object.fromEntries(
    Object.entries(subscribers).map(([type, named]) => [
      type,
      Object.fromEntries(
        Object.entries(named).map(([name, subscriber]) => [
          name,
          (event: EventEnvelope, job: JobContext) => subscriber.call(named, event, job, serviceOf()),
        ]),
      ),
    ]),
  );
}
