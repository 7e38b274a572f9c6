import type { Middleware } from "@svc/context";
import type { JobTable } from "@svc/job-table";
import type { PluginContext } from "@svc/plugin";

/** The content of the queue page, and its guard. */
export interface QueuePageOptions {
  readonly table: JobTable;
  /** The path of the page; empty: no page. */
  readonly path: string;
  readonly guard: Middleware | undefined;
  /** Returns the next ticks of the schedules; undefined without schedules. */
  readonly schedules: (() => readonly ShownTick[]) | undefined;
}

/** The next tick of a schedule. */
export interface ShownTick {
  readonly name: string;
  readonly task: string;
  readonly at: string;
}

/** Returns the queue page, only outside `prod` (JOB-32). */
export async function queuePage(
  { table, path, guard, schedules }: QueuePageOptions,
  { service: { env }, logger, hasRoute }: Pick<PluginContext, "service" | "logger" | "hasRoute">,
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
    // A route of the application has precedence, because it also exists in prod.
    if (hasRoute(target.split("?", 1)[0] ?? "")) return next();
    routes(req, res, next);
  };
}

async function adminsOnly(): Promise<Middleware> {
  const { requireRoles } = await import("@svc/jwt-auth");
  return requireRoles("admin");
}
