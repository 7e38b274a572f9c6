import { currentContext } from "@svc/context";
import type { JobHandler, JobTable, WorkerEvent } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import type { BackgroundPart, PluginContext, PluginParts } from "@svc/plugin";
import type { ServiceLogger } from "../service-logger.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { QueueSettings } from "./queue-table.ts";

/** The inputs of a worker. */
export interface WorkerSurroundings {
  readonly table: JobTable;
  readonly handlers: Readonly<Record<string, JobHandler>>;
  readonly metrics: MetricsMiddleware | undefined;
}

/** Returns the worker, its readiness check and its metrics. */
export async function workerParts(
  context: PluginContext<QueueSettings>,
  { table, handlers, metrics }: WorkerSurroundings,
): Promise<PluginParts> {
  const { options: settings, logger } = context;
  const { createWorker } = await import("@svc/job-table");
  let running = (): number => 0;
  const onEvent = metrics && (await counted(metrics, Object.keys(handlers), () => running()));
  const worker = namedAsConfigured(context, "createWorker()", () =>
    createWorker({
      table,
      handlers,
      concurrency: settings.concurrency,
      prefetch: settings.prefetch,
      jobTimeoutSeconds: settings.jobTimeoutSeconds,
      drainSeconds: settings.drainSeconds,
      pollMs: Math.round(settings.pollSeconds * 1000),
      listen: settings.listen,
      depthEverySeconds: settings.depthEverySeconds,
      logger,
      onEvent,
      around(job, run) {
        const current = currentContext();
        // Lines that are logged through the context name the job.
        if (current !== undefined)
          current.log = (logger as ServiceLogger).child({ job_id: job.id, task: job.task });
        return run();
      },
    }),
  );
  running = () => worker.running;
  const part: BackgroundPart = {
    name: "worker",
    start: () => worker.start(),
    stop: () => worker.stop(),
    // A second stop() makes the worker release its running jobs.
    hurry: () => void worker.stop(),
  };
  return { checks: [worker.readiness()], work: [part] };
}

async function counted(
  { registry }: MetricsMiddleware,
  tasks: readonly string[],
  running: () => number,
): Promise<(event: WorkerEvent) => void> {
  const { jobMetrics } = await import("@svc/metrics");
  return jobMetrics({ registry, tasks, running });
}
