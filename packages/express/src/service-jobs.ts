import type { EventEnvelope, Subscriber } from "@svc/events";
import { type EventsSettings, writesOutbox } from "@svc/events/plugin";
import type { JobContext, JobHandler, JobTableOptions } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import type { Schedules } from "@svc/scheduler";
import type { Service } from "./service.ts";

/** What a process does: serve requests, run background work, or both. */
export type ServiceRole = "server" | "worker" | "both";

/** The database for jobs. */
export type JobDatabase = JobTableOptions["db"];

/** The resolved job options of a service. The functions are bound to the service: callers pass no service argument. */
export interface JobCode {
  readonly jobs: Readonly<Record<string, JobHandler>>;
  readonly subscribers: Readonly<Record<string, Readonly<Record<string, Subscriber>>>>;
  readonly schedules: Schedules;
  /** The tasks with a schema in `queue.tasks`. */
  readonly tasks: readonly string[];
  readonly role: ServiceRole;
  readonly db: JobDatabase | undefined;
}

// TypeScript checks method parameters less strictly, so a handler can declare the payload type that it expects.
interface Handlers<S> {
  job(payload: unknown, job: JobContext, service: S): unknown;
  subscriber(event: EventEnvelope, job: JobContext, service: S): unknown;
}

/** Handles the jobs of a task: like a handler in `@svc/job-table`, with the service as third argument. */
export type ServiceJobHandler<S = Service> = Handlers<S>["job"];

/** Handlers by task. */
export type ServiceJobs<S = Service> = Readonly<Record<string, ServiceJobHandler<S>>>;

/**
 * The handlers of all tasks of `defineTasks()`, with their payloads, for the option `jobs`:
 * `const jobs: ServiceTaskHandlers<typeof tasks> = { ... }`. An unknown or missing task does not compile. `S` is the type of the
 * service, for example `Service<{ audit: typeof auditPlugin }, typeof tasks>`.
 */
export type ServiceTaskHandlers<T extends { readonly types?: TaskTypes | undefined }, S = Service> = {
  readonly [N in keyof Received<T>]: (payload: Received<T>[N], job: JobContext, service: S) => unknown;
};

interface TaskTypes {
  readonly received: object;
}

type Received<T extends { readonly types?: TaskTypes | undefined }> = NonNullable<T["types"]>["received"];

/** Handles an event: like a subscriber in `@svc/events`, with the service as third argument. */
export type ServiceSubscriber<S = Service> = Handlers<S>["subscriber"];

/** Subscribers by event type and stable name. */
export type ServiceSubscribers<S = Service> = Readonly<
  Record<string, Readonly<Record<string, ServiceSubscriber<S>>>>
>;

/** Returns the handlers as a worker needs them, without the service argument. */
function boundJobs(jobs: ServiceJobs, serviceOf: () => Service): Record<string, JobHandler> {
  return Object.fromEntries(
    Object.entries(jobs).map(([task, handler]) => [
      task,
      (payload: unknown, job: JobContext) => handler.call(jobs, payload, job, serviceOf()),
    ]),
  );
}

/** Returns the subscribers as `createEvents()` needs them, without the service argument. */
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

/** The job options of `createService()`. */
export interface JobOptions {
  readonly jobs: ServiceJobs | undefined;
  readonly subscribers: ServiceSubscribers | undefined;
  readonly schedules: Schedules | undefined;
  readonly role: ServiceRole;
  readonly db: JobDatabase | undefined;
}

/**
 * @param queue the options in code for the plugin `queue`
 * @throws ConfigurationError
 */
export function resolveJobCode(
  options: JobOptions,
  queue: { readonly tasks?: unknown } | undefined,
  profile: "full" | "reduced",
  serviceOf: () => Service,
): JobCode {
  if (profile === "reduced") refuseInReduced(options);
  const { jobs = {}, subscribers = {}, schedules = {}, role, db } = options;
  const { schemas = {} } = (queue?.tasks ?? {}) as { readonly schemas?: object };
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
    tasks: Object.keys(schemas),
    role,
    db,
  };
}

/** Returns a fault for each member of an object that must be a function but is not. */
function faultsOfHandlers(option: string, handlers: Readonly<Record<string, unknown>>): Fault[] {
  if (!isPlain(handlers)) return [{ key: option, message: "must be a plain object of functions by name" }];
  return Object.entries(handlers)
    .filter(([, handler]) => typeof handler !== "function")
    .map(([name]) => ({ key: `${option}.${name}`, message: "must be a function" }));
}

/** Returns whether a value is a plain object. The entries of a Map and the methods of a class would never be called. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

// The reduced profile never runs jobs, events or schedules (PROF-5).
function refuseInReduced({ role, ...code }: JobOptions): void {
  const message = "is available only in the full profile; the reduced profile has no queue and no worker";
  const given = Object.entries(code).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const keys = role === "worker" ? ["role", ...given] : given;
  if (keys.length > 0) {
    const faults = keys.map((key) => ({ key, message }));
    throw new ConfigurationError("createService()", faults);
  }
}

/** The settings of the plugins that run a service's jobs and subscribers; undefined for a disabled plugin. */
interface JobSettings {
  readonly queue?: object | undefined;
  readonly events?: EventsSettings | undefined;
  readonly rollups?: object | undefined;
  readonly rag?: object | undefined;
}

/**
 * Returns the faults of options that would silently have no effect: code that is never called, and a worker without
 * work.
 */
export function faultsOfJobs(settings: JobSettings, code: JobCode): readonly Fault[] {
  return [...unused(settings, code), ...idle(settings, code)];
}

function unused({ queue, events, rollups, rag }: JobSettings, code: JobCode): Fault[] {
  const usesDatabase = [queue, events, rollups, rag].some((each) => each !== undefined);
  const needs: readonly (readonly [option: string, plugin: string, isUseless: boolean])[] = [
    ["jobs", "queue", queue === undefined && isGiven(code.jobs)],
    ["subscribers", "events", events === undefined && isGiven(code.subscribers)],
    ["schedules", "queue", queue === undefined && isGiven(code.schedules)],
    ["db", "queue", !usesDatabase && code.db !== undefined],
  ];
  return needs.flatMap(([option, plugin, isUseless]) =>
    isUseless
      ? [
          {
            key: option,
            message: `has no effect without the plugin ${plugin}; enable the plugin, or remove ${option}`,
          },
        ]
      : [],
  );
}

function idle({ queue, events, rollups, rag }: JobSettings, code: JobCode): Fault[] {
  const hasOwnJobs = rollups !== undefined || rag !== undefined;
  const onQueue = hasOwnJobs || [code.jobs, code.subscribers, code.schedules].some(isGiven);
  // Pruning the inbox is not enough work to justify a worker process.
  const works = (queue !== undefined && onQueue) || (events !== undefined && writesOutbox(events));
  if (code.role !== "worker" || works) return [];
  const message =
    "worker has no work: pass jobs, subscribers or schedules to createService(), and enable their plugins";
  return [{ key: "role", message }];
}

function isGiven(value: object): boolean {
  return Object.keys(value).length > 0;
}
