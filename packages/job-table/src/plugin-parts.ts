import { currentContext, type Logger, type Middleware } from "@svc/context";
import { takeOptions } from "@svc/options";
import { type PluginContext, type PluginParts, spanPart } from "@svc/plugin";
import type { Database } from "@svc/sql";
import { createJobTable, type JobTable } from "./job-table.ts";
import type { ScheduleRow } from "./page/options.ts";
import { queueRoutes } from "./page/queue-routes.ts";
import type { QueuePluginSettings } from "./plugin-options.ts";
import { listeningPool, sizeOf } from "./worker/session.ts";
import type { JobHandler, WorkerEvent } from "./worker/options.ts";
import { createWorker } from "./worker/worker.ts";

type Context = PluginContext<QueuePluginSettings>;

/** Functions of packages that this package must not depend on. A service provides them as the part `queueTools`. */
export interface QueueTools {
  /** Returns the guard for the queue page outside `local`. */
  adminsOnly(): Promise<Middleware>;
  /** Returns a function that counts a worker's events; undefined in a service without metrics. */
  jobMetrics(
    tasks: readonly string[],
    running: () => number,
  ): Promise<((event: WorkerEvent) => void) | undefined>;
}

export function queueTable(options: QueuePluginSettings, db: Database): JobTable {
  return createJobTable({
    ...takeOptions(options, "name", "visibilityTimeoutSeconds", "maxPayloadBytes", "tasks"),
    db,
  });
}

/** Returns whether `db` is a pool of one connection, which a listening worker would occupy. */
export function isTooSmallToListen(db: Database): boolean {
  const pool = listeningPool(db);
  return pool !== undefined && sizeOf(pool) === 1;
}

export async function workerParts(
  context: Context,
  table: JobTable,
  handlers: Readonly<Record<string, JobHandler>>,
): Promise<PluginParts> {
  const { options, logger, part } = context;
  let running = (): number => 0;
  const onEvent = await part<QueueTools>("queueTools")?.jobMetrics(Object.keys(handlers), () => running());
  const worker = createWorker({
    ...takeOptions(
      options,
      "concurrency",
      "prefetch",
      "jobTimeoutSeconds",
      "drainSeconds",
      "claimOnEnqueue",
      "listen",
      "depthEverySeconds",
    ),
    pollMs: Math.round(options.pollSeconds * 1000),
    table,
    handlers,
    logger,
    onEvent,
    span: spanPart(context),
    around(job, run) {
      const current = currentContext();
      // Records that are logged through the context include the job id.
      if (current !== undefined)
        current.log = (logger as ParentLogger).child({ job_id: job.id, task: job.task });
      return run();
    },
  });
  running = () => worker.running;
  return {
    checks: [worker.readiness()],
    work: [
      {
        name: "worker",
        start: () => worker.start(),
        stop: () => worker.stop(),
        // The second stop() makes the worker release its running jobs.
        hurry: () => void worker.stop(),
      },
    ],
  };
}

interface ParentLogger extends Logger {
  child(fields: object): Logger;
}

/** Creates the queue page; undefined in `prod` (JOB-32). */
export async function queuePage(
  { options: { page: path, guard }, service: { env }, logger, hasRoute, part }: Context,
  table: JobTable,
  schedules: (() => readonly ScheduleRow[]) | undefined,
): Promise<Middleware | undefined> {
  const tools = part<QueueTools>("queueTools");
  const needsGuard = guard === undefined && env !== "local";
  // Without the tools there is no guard, so leave out the page.
  if (env === "prod" || path === "" || (needsGuard && tools === undefined)) return undefined;
  const ownGuard = needsGuard ? await tools?.adminsOnly() : guard;
  const routes = queueRoutes({ table, path, guard: ownGuard, logger, schedules });
  return function showQueue(req, res, next) {
    const target = req.url ?? "";
    if (!target.startsWith(path)) return next();
    // The application's own route takes precedence, because it also exists in prod.
    if (hasRoute(target.split("?", 1)[0] ?? "")) return next();
    routes(req, res, next);
  };
}
