import type { Middleware } from "@svc/context";
import type { EventEnvelope, Subscriber } from "@svc/events";
import type { JobContext, JobHandler } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import type { Schedules } from "@svc/scheduler";
import type { JobCode, JobDatabase, ServiceRole } from "./plugins/job-code.ts";
import type { Service } from "./service.ts";

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

/** The options of `[plugin.queue]` that need code. */
export interface QueueCode {
  /**
   * Middleware that decides which callers may see the queue page and retry dead jobs (JOB-32). Default: every caller in
   * `local`, elsewhere callers with the role `admin`.
   */
  readonly guard?: Middleware | undefined;
}

/** Returns the handlers in the form of a worker, without the service argument. */
function boundJobs(jobs: ServiceJobs, serviceOf: () => Service): Record<string, JobHandler> {
  return Object.fromEntries(
    Object.entries(jobs).map(([task, handler]) => [
      task,
      (payload: unknown, job: JobContext) => handler.call(jobs, payload, job, serviceOf()),
    ]),
  );
}

/** Returns the subscribers in the form of `createEvents()`, without the service argument. */
function boundSubscribers(
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

/** The options of `createService()` about jobs. */
export interface JobOptions {
  readonly jobs: ServiceJobs | undefined;
  readonly subscribers: ServiceSubscribers | undefined;
  readonly schedules: Schedules | undefined;
  readonly role: ServiceRole;
  readonly db: JobDatabase | undefined;
}

/** @throws ConfigurationError */
export function resolveJobCode(
  options: JobOptions,
  profile: "full" | "reduced",
  serviceOf: () => Service,
): JobCode {
  if (profile === "reduced") refuseInReduced(options);
  const { jobs = {}, subscribers = {}, schedules = {}, role, db } = options;
  const faults = [
    ...Object.entries({ subscribers, schedules })
      .filter(([, given]) => !isPlain(given))
      .map(([key]) => ({ key, message: "must be a plain object" })),
    ...faultsOfHandlers("jobs", jobs),
    ...Object.entries(subscribers).flatMap(([type, named]) => faultsOfHandlers(`subscribers.${type}`, named)),
  ];
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
  return {
    jobs: boundJobs(jobs, serviceOf),
    subscribers: boundSubscribers(subscribers, serviceOf),
    schedules,
    role,
    db,
  };
}

/** Returns a fault for each member of a table of functions that is not a function. */
function faultsOfHandlers(option: string, handlers: Readonly<Record<string, unknown>>): Fault[] {
  if (!isPlain(handlers)) return [{ key: option, message: "must be a plain object of functions by name" }];
  return Object.entries(handlers)
    .filter(([, handler]) => typeof handler !== "function")
    .map(([name]) => ({ key: `${option}.${name}`, message: "must be a function" }));
}

/** Whether a value is a plain object. The entries of a Map and the methods of a class would never be called. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

// The reduced profile would never run jobs, events and schedules (PROF-5).
function refuseInReduced({ role, ...code }: JobOptions): void {
  const message = "belongs to the full profile; the reduced one has no queue and no worker";
  const given = Object.entries(code).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const keys = role === "worker" ? ["role", ...given] : given;
  if (keys.length > 0) {
    const faults = keys.map((key) => ({ key, message }));
    throw new ConfigurationError("createService()", faults);
  }
}
