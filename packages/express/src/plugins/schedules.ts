import type { JobTable } from "@svc/job-table";
import { ConfigurationError } from "@svc/options";
import type { Scheduler, Schedules } from "@svc/scheduler";
import type { PluginContext, PluginParts } from "@svc/plugin";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { QueueSettings } from "./queue-table.ts";

/** The parts of a service that schedules need. */
export interface ScheduleSurroundings {
  readonly table: JobTable;
  readonly schedules: Schedules;
  /** The tasks with handlers in this process; empty when other processes work on the table. */
  readonly tasks: readonly string[];
  /** Whether this process queues their jobs. */
  readonly runs: boolean;
}

/** Returns the scheduler, its readiness check and its table; undefined without schedules. */
export async function schedulerParts(
  context: PluginContext<QueueSettings>,
  { table, schedules, tasks, runs }: ScheduleSurroundings,
): Promise<(PluginParts & { readonly scheduler: Scheduler }) | undefined> {
  if (Object.keys(schedules).length === 0) return undefined;
  if (tasks.length > 0) await context.attempt(() => refuseUnhandled(schedules, tasks));
  const { ticksTable, retentionDays } = context.options;
  const { createScheduler } = await import("@svc/scheduler");
  const scheduler = namedAsConfigured(context, "createScheduler()", () =>
    createScheduler({ table, schedules, ticksTable, retentionDays, logger: context.logger }),
  );
  if (!runs) return { scheduler };
  return {
    scheduler,
    checks: [scheduler.readiness()],
    schemas: [{ key: "plugin.queue.ticks_table", ensureSchema: () => scheduler.ensureSchema() }],
    work: [{ name: "scheduler", start: () => scheduler.start(), stop: () => scheduler.stop() }],
  };
}

// The job of a schedule without a handler would be dead-lettered at every tick.
function refuseUnhandled(schedules: Schedules, tasks: readonly string[]): void {
  const faults = Object.entries(schedules)
    // The scheduler itself refuses invalid schedules.
    .filter(([, schedule]) => typeof schedule?.task === "string" && !tasks.includes(schedule.task))
    .map(([name, { task }]) => ({
      key: `schedules.${name}.task`,
      message: `${JSON.stringify(task)} has no handler in jobs; there are ${tasks.join(", ")}`,
    }));
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}
