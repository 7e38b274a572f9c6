import { ConfigurationError } from "@svc/options";
import { definePlugin, type JobHandlers, type PluginContext, type PluginParts } from "@svc/plugin";
import type { Database } from "@svc/sql";
import type { JobTable } from "./job-table.ts";
import { queueOptions, type QueuePluginSettings } from "./plugin-options.ts";
import type { JobHandler } from "./worker/options.ts";

export { queueOptions } from "./plugin-options.ts";
export type { QueueTools } from "./plugin-parts.ts";

/** `[plugin.queue]`: the job table as `service.jobs`, its worker and the queue page. */
export const queuePlugin = definePlugin({
  name: "queue",
  uses: ["database", "metrics", "telemetry"],
  options: queueOptions,
  async start(context) {
    const { options, part, systemPaths } = context;
    const own = ownDatabase(context);
    const db = own ?? part<Database>("db");
    if (db === undefined) refuseWithoutDatabase();
    refuseHiddenPath(options.page, systemPaths());
    const { queueTable } = await import("./plugin-parts.ts");
    const jobs = queueTable(options, db);
    return {
      parts: { jobs },
      checks: [jobs.readiness()],
      schemas: [{ key: "plugin.queue.name", ensureSchema: () => jobs.ensureSchema() }],
      finish: (handlers) => onTheTable(context, jobs, handlers),
    };
  },
});

/** Returns the database passed to `createService()`; undefined if the plugin `database` provides it. */
function ownDatabase({ code }: Pick<PluginContext, "code">): Database | undefined {
  return code<{ readonly db: Database | undefined }>("work")?.db;
}

async function onTheTable(
  context: PluginContext<QueuePluginSettings>,
  table: JobTable,
  given: JobHandlers,
): Promise<PluginParts> {
  const { options, service, part, attempt } = context;
  const { isTooSmallToListen, queuePage, workerParts } = await import("./plugin-parts.ts");
  const handlers = given as Readonly<Record<string, JobHandler>>;
  const tasks = Object.keys(handlers);
  const works = service.role !== "server" && tasks.length > 0;
  const db = part<Database>("db");
  if (works && options.listen && ownDatabase(context) === undefined && db && isTooSmallToListen(db)) {
    await attempt(refuseOnlyConnection);
  }
  const worker = works ? await attempt(() => workerParts(context, table, handlers)) : undefined;
  const ticks = part<{ nextTicks(): readonly ShownTick[] }>("scheduler");
  const schedules = ticks && (() => ticks.nextTicks());
  return {
    ...worker,
    page: service.role === "worker" ? undefined : await queuePage(context, table, schedules),
    info: () => ({ table: options.name, role: service.role, tasks, schedules: schedules?.() ?? [] }),
  };
}

export interface ShownTick {
  readonly name: string;
  readonly task: string;
  readonly at: string;
}

function refuseWithoutDatabase(): never {
  const message =
    "contains queue, which needs a database: add database, or pass your own db to createService()";
  throw new ConfigurationError("the service", [{ key: "plugins.enabled", message }]);
}

// The queue page runs before these routes and would hide them.
function refuseHiddenPath(page: string, systemPaths: readonly string[]): void {
  if (!["/health", "/ready", "/info", ...systemPaths].includes(page)) return;
  const message = `is ${page}, which the service itself serves; choose another path`;
  throw new ConfigurationError("the service", [{ key: "plugin.queue.page", message }]);
}

// The worker would listen on the only connection and wait forever for another one.
function refuseOnlyConnection(): never {
  const message =
    "must be at least 2, because the listener of the job worker occupies one connection; raise it, or set plugin.queue.listen to false";
  throw new ConfigurationError("the service", [{ key: "plugin.database.max", message }]);
}
