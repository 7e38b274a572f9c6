import type { Middleware } from "@svc/context";
import { ConfigurationError, type Fault, func, optional, resolveOptions } from "@svc/options";
import type { Schedules } from "@svc/scheduler";
import type { JobCode, QueueCode, ServiceRole, ServiceJobs, ServiceSubscribers } from "./job-code.ts";
import type { JobDatabase } from "./queue.ts";

/** The options of `createService()` about jobs. */
export interface JobOptions {
  readonly jobs: ServiceJobs | undefined;
  readonly subscribers: ServiceSubscribers | undefined;
  readonly schedules: Schedules | undefined;
  readonly role: ServiceRole;
  readonly queue: QueueCode | undefined;
  readonly db: JobDatabase | undefined;
}

/** @throws ConfigurationError */
export function resolveJobCode(options: JobOptions, profile: "full" | "reduced"): JobCode {
  if (profile === "reduced") refuseInReduced(options);
  const { jobs = {}, subscribers = {}, schedules = {}, role, queue, db } = options;
  const faults = [
    ...Object.entries({ subscribers, schedules })
      .filter(([, given]) => !isPlain(given))
      .map(([key]) => ({ key, message: "must be a plain object" })),
    ...faultsOfHandlers("jobs", jobs),
    ...Object.entries(subscribers).flatMap(([type, named]) => faultsOfHandlers(`subscribers.${type}`, named)),
  ];
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
  const { guard } = resolveOptions("queue of createService()", queue, {
    guard: optional(func<Middleware>()),
  });
  return { jobs, subscribers, schedules, role, guard, db };
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
