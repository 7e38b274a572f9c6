import { type Fault, nearestName } from "@svc/options";
import type { JobHandlers, JobSchedules, PluginParts } from "@svc/plugin";
import type { JobCode } from "../service-jobs.ts";

/**
 * Returns the job handlers and the schedules of the application and all plugins, and adds a fault for each repeated name and each
 * missing handler.
 */
export function queueParts(
  { jobs, schedules: own, tasks }: Pick<JobCode, "jobs" | "schedules" | "tasks">,
  started: ReadonlyMap<string, PluginParts>,
  enabled: readonly string[],
  faults: Fault[],
): { readonly handlers: JobHandlers; readonly schedules: JobSchedules } {
  const handlers: Record<string, JobHandlers[string]> = { ...jobs };
  const schedules: Record<string, JobSchedules[string]> = { ...own };
  for (const [plugin, made] of started) {
    const { handlers: moreHandlers = {}, schedules: moreSchedules = {} } = made;
    for (const [what, more] of [["jobs", moreHandlers] as const, ["schedules", moreSchedules] as const]) {
      if (enabled.includes("queue") || Object.keys(more).length === 0) continue;
      faults.push({ key: "plugins.enabled", message: `contains ${plugin}, which has ${what}: add queue` });
    }
    for (const [task, handler] of Object.entries(moreHandlers)) {
      if (Object.hasOwn(jobs, task)) {
        const owner = plugin === "events" ? "a subscriber" : `the plugin ${plugin}`;
        faults.push({ key: `jobs.${task}`, message: `is the task of ${owner}; rename the job` });
      } else if (Object.hasOwn(handlers, task)) {
        const message = `has a handler for the task ${task}, but another plugin also handles this task`;
        faults.push({ key: `plugin.${plugin}`, message });
      }
      handlers[task] = handler;
    }
    for (const [name, schedule] of Object.entries(moreSchedules)) {
      if (Object.hasOwn(schedules, name)) {
        const message = `is also a schedule of the plugin ${plugin}; rename one of them`;
        faults.push({ key: `schedules.${name}`, message });
      }
      schedules[name] = schedule;
    }
  }
  // A service without handlers of its own may only queue jobs. One with handlers would dead-letter jobs of other tasks.
  if (Object.keys(jobs).length > 0) faults.push(...faultsOfTasks(tasks, handlers));
  return { handlers, schedules };
}

/** Returns a fault for each task that has a schema but no handler. */
function faultsOfTasks(tasks: readonly string[], handlers: JobHandlers): readonly Fault[] {
  const others = Object.keys(handlers).filter((name) => !tasks.includes(name));
  return tasks
    .filter((task) => !Object.hasOwn(handlers, task))
    .map((task) => {
      const meant = nearestName(task, others);
      const message = `has no handler for ${task}, a task of queue.tasks`;
      return { key: "jobs", message: meant === undefined ? message : `${message}; did you mean ${meant}?` };
    });
}
