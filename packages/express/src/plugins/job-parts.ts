import type { Database } from "@svc/database";
import type { JobHandler, JobTable } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import type { Service } from "../service.ts";
import { boundJobs, type JobCode, refuseUseless } from "./job-code.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import { queuePage } from "./queue-page.ts";
import { queuePlugin, type QueueSettings } from "./queue.ts";
import { schedulerPlugin } from "./schedules.ts";
import { workerPlugin } from "./worker.ts";

/** What of the configuration is about jobs. */
export interface JobSettings {
  readonly queue: QueueSettings | undefined;
}

/** What jobs need of the other plugins. */
export interface JobSurroundings {
  readonly db: Database | undefined;
  readonly metrics: MetricsMiddleware | undefined;
  readonly serviceOf: () => Service;
}

/** What jobs add to a service. */
export interface JobParts {
  readonly jobs: JobTable | undefined;
  readonly queue: PluginParts | undefined;
}

/** The queue and what works on it. */
export async function jobParts(
  { queue: settings }: JobSettings,
  context: PluginContext,
  code: JobCode,
  { db, metrics, serviceOf }: JobSurroundings,
): Promise<JobParts> {
  if (settings === undefined) {
    refuseWithoutQueue(code);
    return { jobs: undefined, queue: undefined };
  }
  const queue = await queuePlugin(settings, context, code.db ?? db);
  const { jobs } = queue;
  const worksHere = code.role !== "server";
  const own = boundJobs(code.jobs, serviceOf);
  const schedules = await schedulerPlugin(settings, context, {
    table: jobs,
    schedules: code.schedules,
    tasks: Object.keys(own),
    runs: worksHere,
  });
  const handlers: Readonly<Record<string, JobHandler>> = own;
  const tasks = Object.keys(handlers);
  const worker =
    worksHere && tasks.length > 0
      ? await workerPlugin(settings, context, { table: jobs, handlers, metrics })
      : undefined;
  const parts: readonly PluginParts[] = [schedules, worker, queue].filter((each) => each !== undefined);
  const work = parts.flatMap((each) => each.work ?? []);
  if (code.role === "worker" && work.length === 0) {
    refuseIdle("has nothing to work on: give createService() jobs or schedules");
  }
  const nextTicks = schedules && (() => schedules.scheduler.nextTicks());
  return {
    jobs,
    queue: {
      checks: [queue, worker, schedules].flatMap((each) => each?.checks ?? []),
      schemas: [queue, schedules].flatMap((each) => each?.schemas ?? []),
      work,
      page:
        code.role === "worker"
          ? undefined
          : await queuePage(
              { table: jobs, path: settings.page, guard: code.guard, schedules: nextTicks },
              context,
            ),
      info: () => ({ table: settings.name, role: code.role, tasks, schedules: nextTicks?.() ?? [] }),
    },
  };
}

function refuseWithoutQueue(code: JobCode): void {
  for (const option of ["jobs", "schedules"] as const) {
    if (Object.keys(code[option]).length > 0) refuseUseless(option, "queue");
  }
  if (code.db !== undefined) refuseUseless("db", "queue");
  if (code.role === "worker") refuseIdle("needs the plugin queue");
}

function refuseIdle(message: string): never {
  throw new ConfigurationError("createService()", [{ key: "role", message: `worker ${message}` }]);
}
