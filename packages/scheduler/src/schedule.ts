import { createHash } from "node:crypto";
import type { AnyTasks, TableAccess, TaskAndPayload } from "@svc/job-table";
import { ConfigurationError, type Fault, nearestName, type Kind, wrongValue } from "@svc/options";
import { boolean, integer, string } from "@svc/options";
import { CronFault, type CronFields, parseCron } from "./cron/fields.ts";
import { cronTimes } from "./cron/times.ts";
import { createZones, type OffsetAt } from "./cron/zone.ts";
import { intervalTimes, type Times } from "./times.ts";

/** The job that a schedule queues. */
export interface ScheduledJob {
  /** Name of the job's handler. Required. */
  readonly task: string;
  /** Payload object; each job adds `scheduled_for`, its tick as ISO 8601 in UTC. Default: `{}`. */
  readonly payload?: Readonly<Record<string, unknown>> | undefined;
  /** Whether to run the newest missed tick late, once (SCH-5). Default: true. */
  readonly catchUp?: boolean | undefined;
  /** Maximum number of attempts before the job is dead, 1 to 1,000. Default: 3. */
  readonly maxAttempts?: number | undefined;
}

/** A schedule at local times. */
export interface CronSchedule extends ScheduledJob {
  /** Five fields: minute, hour, day of month, month, day of week; or a macro such as `@daily` (SCH-3). Required. */
  readonly cron: string;
  /** Time zone of the fields, for example `Europe/Berlin`. Default: `UTC`. */
  readonly zone?: string | undefined;
  readonly everySeconds?: undefined;
}

/** A schedule with a fixed interval. */
export interface IntervalSchedule extends ScheduledJob {
  /** Seconds between two ticks, counted from the Unix epoch; a whole number from 1 to 31,622,400 (SCH-2). Required. */
  readonly everySeconds: number;
  readonly cron?: undefined;
  readonly zone?: undefined;
}

export type Schedule = CronSchedule | IntervalSchedule;

/** A payload without `scheduled_for`, which each tick adds. */
type ScheduledPayload<P> = P extends object ? Omit<P, "scheduled_for"> : never;

type Timing = Omit<CronSchedule, "task" | "payload"> | Omit<IntervalSchedule, "task" | "payload">;

/** A schedule for a job of a task map `{ "mail.send": { to: string } }`: its task determines the type of its payload. */
export type TaskSchedule<M extends AnyTasks> = {
  readonly [T in keyof M & string]: Timing & TaskAndPayload<T, ScheduledPayload<M[T]>>;
}[keyof M & string];

/**
 * Schedules by name. Ticks are stored under the name, so it must not change.
 *
 * `Queued` is the task map of the job table; without one any task is allowed.
 */
export type Schedules<Queued extends AnyTasks = AnyTasks> = Readonly<
  Record<string, string extends keyof Queued ? Schedule : TaskSchedule<Queued>>
>;

export interface ResolvedSchedule {
  readonly name: string;
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly catchUp: boolean;
  readonly maxAttempts: number;
  readonly times: Times;
}

const KINDS: Readonly<Record<string, Kind<unknown>>> = {
  cron: string(),
  zone: string(),
  everySeconds: integer({ min: 1, max: 366 * 86_400 }),
  task: string(),
  payload: {
    expects: "an object",
    accepts: (value): value is unknown => isRecord(value),
  },
  catchUp: boolean(),
  maxAttempts: integer({ min: 1, max: 1000 }),
};

const MAX_SCHEDULES = 1000;
const MAX_NAME = 128;
const CONTROL = /[\p{Cc}\p{Surrogate}]/u;

/**
 * Returns whether a value is an object with members by name; false for iterables, such as arrays and Maps, and for a Date.
 */
export function isRecord(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && !(Symbol.iterator in value) && !(value instanceof Date)
  );
}

/**
 * Returns the id of a tick's job (SCH-4): the first 32 hex digits of the SHA-256 of `<name>@<tick>`, with the tick as
 * `2026-01-02T03:04:00.000Z`.
 */
export function jobIdOf(name: string, tick: string): string {
  return createHash("sha256").update(`${name}@${tick}`).digest("hex").slice(0, 32);
}

/** Returns the job of a tick. */
export function jobOf({ name, task, payload, maxAttempts }: ResolvedSchedule, tick: string) {
  const id = jobIdOf(name, tick);
  return {
    id,
    task,
    payload: { ...payload, scheduled_for: tick },
    maxAttempts,
    requestId: id,
    tenantId: null,
    trace: null,
  };
}

/**
 * Checks and resolves all schedules.
 *
 * @throws ConfigurationError that lists every fault with its schedule and field
 */
export function resolveSchedules(
  subject: string,
  given: Schedules,
  access: TableAccess,
): readonly ResolvedSchedule[] {
  const faults: Fault[] = [];
  const names = Object.keys(given);
  if (names.length > MAX_SCHEDULES) {
    faults.push({
      key: "schedules",
      message: `must have at most ${MAX_SCHEDULES} entries; it has ${names.length}`,
    });
  }
  const zoneOf = createZones();
  const resolved =
    faults.length > 0 ? [] : names.map((name) => resolveOne(name, given[name], access, zoneOf, faults));
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return resolved.filter((each) => each !== undefined);
}

type ZoneOf = (zone: string) => OffsetAt;

function resolveOne(
  name: string,
  given: unknown,
  access: TableAccess,
  zoneOf: ZoneOf,
  faults: Fault[],
): ResolvedSchedule | undefined {
  const key = `schedules.${name.slice(0, MAX_NAME)}`;
  const before = faults.length;
  const addFault = (field: string, message: string): void => {
    faults.push({ key: field === "" ? key : `${key}.${field}`, message });
  };
  if (name === "" || name.length > MAX_NAME || CONTROL.test(name)) {
    addFault("", `a name must have 1 to ${MAX_NAME} characters and no control characters`);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    addFault("", "must be an object with task, and cron or everySeconds");
    return undefined;
  }
  checkFields(given, addFault);
  if (faults.length > before) return undefined;
  // checkFields() has checked every member.
  const schedule = given as Schedule;
  const { task, payload = {}, catchUp = true, maxAttempts = 3 } = schedule;
  const times = timesOf(schedule, zoneOf, addFault);
  if (times === undefined) return undefined;
  const resolved: ResolvedSchedule = { name, task, payload: { ...payload }, catchUp, maxAttempts, times };
  try {
    // Detect now, and not at the first tick, a job that the table rejects.
    access.enqueuePart(jobOf(resolved, new Date(0).toISOString()), { from: "nothing", first: 1 });
  } catch (error) {
    addFault("", error instanceof Error ? error.message : "is not a valid job");
    return undefined;
  }
  return resolved;
}

function checkFields(given: object, addFault: (field: string, message: string) => void): void {
  const known = Object.keys(KINDS);
  const values = given as Readonly<Record<string, unknown>>;
  for (const field of Object.keys(given)) {
    if (Object.hasOwn(KINDS, field)) continue;
    const nearest = nearestName(field, known);
    const hint = nearest === undefined ? `expected one of ${known.join(", ")}` : `did you mean ${nearest}?`;
    addFault(field, `is unknown; ${hint}`);
  }
  for (const [field, kind] of Object.entries(KINDS)) {
    const value = values[field];
    if (value !== undefined && !kind.accepts(value)) addFault(field, wrongValue(kind, value));
  }
  const { cron, everySeconds, zone, task } = values;
  if (task === undefined) addFault("task", "is required and must be the name of a task");
  if ((cron === undefined) === (everySeconds === undefined)) {
    addFault("", "must have either cron or everySeconds");
  }
  if (zone !== undefined && cron === undefined)
    addFault("zone", "applies only to cron; intervals have no time zone");
}

function timesOf(
  schedule: Schedule,
  zoneOf: ZoneOf,
  addFault: (field: string, message: string) => void,
): Times | undefined {
  if (schedule.cron === undefined) return intervalTimes(schedule.everySeconds * 1000);
  const { cron, zone = "UTC" } = schedule;
  let fields: CronFields;
  try {
    fields = parseCron(cron);
  } catch (error) {
    if (!(error instanceof CronFault)) throw error;
    addFault("cron", error.message);
    return undefined;
  }
  try {
    return cronTimes(fields, zoneOf(zone));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    addFault(
      "zone",
      `${JSON.stringify(zone.slice(0, 64))} is not a known time zone; use a name such as Europe/Berlin`,
    );
    return undefined;
  }
}
