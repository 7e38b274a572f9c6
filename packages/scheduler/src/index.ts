export type { FiredTick, SchedulerEvent } from "./events.ts";
export type { SchedulerOptions } from "./options.ts";
export type { Pass } from "./pass.ts";
export {
  type CronSchedule,
  type IntervalSchedule,
  jobIdOf,
  type Schedule,
  type ScheduledJob,
  type Schedules,
  type TaskSchedule,
} from "./schedule.ts";
export { createScheduler, type NextTick, type Scheduler } from "./scheduler.ts";
export { DEFAULT_TICKS_TABLE } from "./ticks-options.ts";
