import type { Database } from "@svc/database";
import type { JobTable } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import type { Service } from "../service.ts";
import { boundJobs, type JobCode, refuseUseless } from "./job-code.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import { queuePlugin, type QueueSettings } from "./queue.ts";
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
  settings: JobSettings,
  context: PluginContext,
  code: JobCode,
  { db, metrics, serviceOf }: JobSurroundings,
): Promise<JobParts> {
  const { role } = code;
  if (settings.queue === undefined) {
    for (const option of ["jobs", "db"] as const) if (isGiven(code[option])) refuseUseless(option, "queue");
    if (role === "worker") refuseIdle("needs the plugin queue");
    return { jobs: undefined, queue: undefined };
  }
  const queue = await queuePlugin(settings.queue, context, {
    db: code.db ?? db,
    guard: code.guard,
    serves: role !== "worker",
  });
  const handlers = boundJobs(code.jobs, serviceOf);
  const tasks = Object.keys(handlers);
  const works = role !== "server" && tasks.length > 0;
  if (role === "worker" && !works) refuseIdle("has nothing to work on: give createService() jobs");
  const worker = works
    ? await workerPlugin(settings.queue, context, { table: queue.jobs, handlers, metrics })
    : undefined;
  return {
    jobs: queue.jobs,
    queue: {
      ...queue,
      checks: [...(queue.checks ?? []), ...(worker?.checks ?? [])],
      work: worker?.work,
      info: () => ({ ...queueInfo(settings.queue), role, tasks }),
    },
  };
}

function queueInfo(settings: QueueSettings | undefined): Readonly<Record<string, unknown>> {
  return settings === undefined ? {} : { table: settings.name };
}

function isGiven(value: object | undefined): boolean {
  return value !== undefined && Object.keys(value).length > 0;
}

function refuseIdle(message: string): never {
  throw new ConfigurationError("createService()", [{ key: "role", message: `worker ${message}` }]);
}
