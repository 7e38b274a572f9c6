import type { JobHandler, JobTable } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts } from "@svc/plugin";
import { allHandlers } from "./job-refusals.ts";
import type { JobCode, JobDatabase } from "./job-code.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import { queuePage } from "./queue-page.ts";
import { queueOptions, type QueueSettings } from "./queue-table.ts";
import { schedulerParts } from "./schedules.ts";
import { workerParts } from "./worker.ts";

type Context = PluginContext<QueueSettings>;

/** `[plugin.queue]`: the job table as `service.jobs`, its worker, the schedules and the queue page. */
export const queuePlugin = definePlugin({
  name: "queue",
  uses: ["database", "metrics"],
  options: queueOptions,
  async start(context) {
    const { options, part, code } = context;
    const jobCode = code<JobCode>("work");
    const db = jobCode?.db ?? part<JobDatabase>("db");
    if (db === undefined) refuseWithoutDatabase();
    const { createJobTable } = await import("@svc/job-table");
    const { name, visibilityTimeoutSeconds, maxPayloadBytes } = options;
    const jobs = namedAsConfigured(context, "createJobTable()", () =>
      createJobTable({ db, name, visibilityTimeoutSeconds, maxPayloadBytes }),
    );
    return {
      parts: { jobs },
      checks: [jobs.readiness()],
      schemas: [{ key: "plugin.queue.name", ensureSchema: () => jobs.ensureSchema() }],
      finish: (handlers) => onTheTable(context, jobs, handlers as Readonly<Record<string, JobHandler>>),
    };
  },
});

/** Creates the worker, the schedules and the queue page. */
async function onTheTable(
  context: Context,
  table: JobTable,
  ofPlugins: Readonly<Record<string, JobHandler>>,
): Promise<PluginParts> {
  const { options, service, part, code, attempt } = context;
  const { jobs = {}, schedules = {} } = code<JobCode>("work") ?? {};
  const works = service.role !== "server";
  const handlers = (await attempt(() => allHandlers(jobs, ofPlugins))) ?? {};
  const tasks = Object.keys(handlers);
  const scheduled = await attempt(() => schedulerParts(context, { table, schedules, tasks, runs: works }));
  const metrics = part<MetricsMiddleware>("metrics");
  const worker =
    works && tasks.length > 0
      ? await attempt(() => workerParts(context, { table, handlers, metrics }))
      : undefined;
  const nextTicks = scheduled && (() => scheduled.scheduler.nextTicks());
  const page = { table, path: options.page, guard: options.guard, schedules: nextTicks };
  return {
    checks: [...(worker?.checks ?? []), ...(scheduled?.checks ?? [])],
    schemas: scheduled?.schemas,
    page: service.role === "worker" ? undefined : await queuePage(page, context),
    info: () => ({ table: options.name, role: service.role, tasks, schedules: nextTicks?.() ?? [] }),
    // The parts that create jobs come first, because they stop first.
    work: [...(scheduled?.work ?? []), ...(worker?.work ?? [])],
  };
}

function refuseWithoutDatabase(): never {
  const message =
    "contains queue, whose jobs stand in a database: add database, or give createService() a db of your own";
  throw new ConfigurationError("the service", [{ key: "plugins.enabled", message }]);
}
