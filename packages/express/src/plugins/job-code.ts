import type { Middleware } from "@svc/context";
import type { JobContext, JobHandler } from "@svc/job-table";
import type { EventEnvelope, Subscriber } from "@svc/events";
import type { Schedules } from "@svc/scheduler";
import type { Service } from "../service.ts";
import type { JobDatabase } from "./queue.ts";

// TypeScript checks the parameters of methods less strictly, so a handler can declare the payload that it expects.
interface Handlers {
  job(payload: unknown, job: JobContext, service: Service): unknown;
  subscriber(event: EventEnvelope, job: JobContext, service: Service): unknown;
}

/** Handles the jobs of a task: a handler of `@svc/job-table` with the service as third argument. */
export type ServiceJobHandler = Handlers["job"];

/** The handlers by task. */
export type ServiceJobs = Readonly<Record<string, ServiceJobHandler>>;

/** Handles an event: a subscriber of `@svc/events` with the service as third argument. */
export type ServiceSubscriber = Handlers["subscriber"];

/** The subscribers by event type and stable name. */
export type ServiceSubscribers = Readonly<Record<string, Readonly<Record<string, ServiceSubscriber>>>>;

/** The role of a process: answer requests, run background work, or both. */
export type ServiceRole = "server" | "worker" | "both";

/** The options of `[plugin.queue]` that need code. */
export interface QueueCode {
  /**
   * Middleware that decides which callers may see the queue page and retry dead jobs (JOB-32). Default: every caller in
   * `local`, elsewhere callers with the role `admin`.
   */
  readonly guard?: Middleware | undefined;
}

/** The resolved options of a service about jobs. */
export interface JobCode {
  readonly jobs: ServiceJobs;
  readonly subscribers: ServiceSubscribers;
  readonly schedules: Schedules;
  readonly role: ServiceRole;
  readonly guard: Middleware | undefined;
  readonly db: JobDatabase | undefined;
}

/** Returns the handlers in the form of a worker, without the service argument. */
export function boundJobs(jobs: ServiceJobs, serviceOf: () => Service): Record<string, JobHandler> {
  return Object.fromEntries(
    Object.entries(jobs).map(([task, handler]) => [
      task,
      (payload: unknown, job: JobContext) => handler.call(jobs, payload, job, serviceOf()),
    ]),
  );
}

/** Returns the subscribers in the form of `createEvents()`, without the service argument. */
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
