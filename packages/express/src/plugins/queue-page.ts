import type { Middleware } from "@svc/context";
import type { JobTable } from "@svc/job-table";
import type { PluginContext } from "./plugin.ts";

/** What the page shows, and to whom. */
export interface QueuePageOptions {
  readonly table: JobTable;
  /** Where it is; empty: nowhere. */
  readonly path: string;
  readonly guard: Middleware | undefined;
  /** The next ticks of the schedules, where there are any. */
  readonly schedules: (() => readonly ShownTick[]) | undefined;
}

/** The next tick of a schedule. */
export interface ShownTick {
  readonly name: string;
  readonly task: string;
  readonly at: string;
}

/** The page of the queue, outside `prod` alone (JOB-32). */
export async function queuePage(
  { table, path, guard, schedules }: QueuePageOptions,
  { env, logger, hasRoute }: PluginContext,
): Promise<Middleware | undefined> {
  if (env === "prod" || path === "") return undefined;
  const { queueRoutes } = await import("@svc/job-table");
  const routes = queueRoutes({
    table,
    path,
    guard: guard ?? (env === "local" ? undefined : await adminsOnly()),
    logger,
    schedules,
  });
  return function showQueue(req, res, next) {
    const target = req.url ?? "";
    if (!target.startsWith(path)) return next();
    // The application's own route is the one that there is in prod, too.
    if (hasRoute(target.split("?", 1)[0] ?? "")) return next();
    routes(req, res, next);
  };
}

async function adminsOnly(): Promise<Middleware> {
  const { requireRoles } = await import("@svc/jwt-auth");
  return requireRoles("admin");
}
