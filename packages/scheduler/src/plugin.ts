import type { JobTable } from "@svc/job-table";
import { ConfigurationError } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import type { Schedules } from "./schedule.ts";
import type { Scheduler } from "./scheduler.ts";
import { ticksOptions } from "./ticks-options.ts";

/**
 * Adds the schedules of the application and of other plugins to `[plugin.queue]`. They queue jobs in the table of the plugin
 * that `joinPlugins()` joins with this one.
 */
export const schedulesPlugin = definePlugin({
  name: "queue",
  options: ticksOptions,
  start({ options, service: { role }, logger, part, attempt }) {
    let scheduler: Scheduler | undefined;
    return {
      offers: { scheduler: { nextTicks: () => scheduler?.nextTicks() ?? [] } },
      async finish(handlers, given) {
        const schedules = given as Schedules;
        const table = part<JobTable>("jobs");
        if (table === undefined || Object.keys(schedules).length === 0) return {};
        const { createScheduler } = await import("./scheduler.ts");
        scheduler = await attempt(() => createScheduler({ ...options, table, schedules, logger }));
        refuseUnhandled(schedules, Object.keys(handlers));
        return role === "server" || scheduler === undefined ? {} : partsOf(scheduler);
      },
    };
  },
});

/** Returns the parts for a process that queues scheduled jobs. */
function partsOf(scheduler: Scheduler) {
  return {
    checks: [scheduler.readiness()],
    schemas: [{ key: "plugin.queue.ticks_table", ensureSchema: () => scheduler.ensureSchema() }],
    work: [{ name: "scheduler", start: () => scheduler.start(), stop: () => scheduler.stop() }],
  };
}

/**
 * Refuses a schedule without a handler, whose job would be dead-lettered at every tick.
 *
 * @param tasks the tasks with handlers in this process; empty if other processes work on the table
 */
function refuseUnhandled(schedules: Schedules, tasks: readonly string[]): void {
  if (tasks.length === 0) return;
  const faults = Object.entries(schedules)
    // The scheduler itself refuses invalid schedules.
    .filter(([, schedule]) => typeof schedule?.task === "string" && !tasks.includes(schedule.task))
    .map(([name, { task }]) => ({
      key: `schedules.${name}.task`,
      message: `${JSON.stringify(task)} has no handler in jobs; expected one of ${tasks.join(", ")}`,
    }));
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}
