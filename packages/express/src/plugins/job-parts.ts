import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { JobHandler, JobTable } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import type { Service } from "../service.ts";
import type { BackgroundPart } from "../work/parts.ts";
import type { EventsSettings } from "./events-table.ts";
import { eventsPlugin } from "./events.ts";
import { boundJobs, boundSubscribers, type JobCode } from "./job-code.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import { queuePage } from "./queue-page.ts";
import { queuePlugin, type QueueSettings } from "./queue.ts";
import { schedulerPlugin } from "./schedules.ts";
import { workerPlugin } from "./worker.ts";

/** What of the configuration is about jobs. */
export interface JobSettings {
  readonly queue: QueueSettings | undefined;
  readonly events: EventsSettings | undefined;
}

/** What jobs need of the other plugins. */
export interface JobSurroundings {
  readonly db: Database | undefined;
  readonly metrics: MetricsMiddleware | undefined;
  readonly serviceOf: () => Service;
}

/** What jobs and events add to a service. */
export interface JobParts {
  readonly queue: PluginParts | undefined;
  readonly eventParts: PluginParts | undefined;
  /** What runs beside the server, in the order in which it is stopped: what makes jobs, then what works on them. */
  readonly work: readonly BackgroundPart[];
  readonly jobs: JobTable | undefined;
  readonly events: Events | undefined;
  readonly inbox: Inbox | undefined;
}

/** The queue, events, and what works on them. */
export async function jobParts(
  settings: JobSettings,
  context: PluginContext,
  code: JobCode,
  { db, metrics, serviceOf }: JobSurroundings,
): Promise<JobParts> {
  refuseUnused(settings, code);
  const works = code.role !== "server";
  const queue = settings.queue && (await queuePlugin(settings.queue, context, code.db ?? db));
  const events =
    settings.events &&
    (await eventsPlugin(settings.events, context, {
      jobs: queue?.jobs,
      db: code.db ?? db,
      subscribers: boundSubscribers(code.subscribers, serviceOf),
      works,
    }));
  const handlers = allHandlers(boundJobs(code.jobs, serviceOf), events?.events.handlers ?? {});
  const onTable =
    settings.queue && queue
      ? await onTheTable(settings.queue, context, code, { jobs: queue.jobs, handlers, metrics, works })
      : undefined;
  const work = [...(onTable?.feeds ?? []), ...(events?.work ?? []), ...(onTable?.worker ?? [])];
  // Upkeep is no reason for a process of its own.
  if (code.role === "worker" && work.every(({ name }) => name === "inbox")) refuseIdle();
  return {
    queue: queue && {
      ...onTable?.parts,
      checks: [...(queue.checks ?? []), ...(onTable?.parts.checks ?? [])],
      schemas: [...(queue.schemas ?? []), ...(onTable?.parts.schemas ?? [])],
    },
    eventParts: events,
    work,
    jobs: queue?.jobs,
    events: events?.events,
    inbox: events?.inbox,
  };
}

interface OnTable {
  readonly parts: PluginParts;
  readonly feeds: readonly BackgroundPart[];
  readonly worker: readonly BackgroundPart[];
}

/** The worker, the schedules and the page. */
async function onTheTable(
  settings: QueueSettings,
  context: PluginContext,
  code: JobCode,
  around: {
    readonly jobs: JobTable;
    readonly handlers: Readonly<Record<string, JobHandler>>;
    readonly metrics: MetricsMiddleware | undefined;
    readonly works: boolean;
  },
): Promise<OnTable> {
  const { jobs: table, handlers, metrics, works } = around;
  const { schedules, role, guard } = code;
  const tasks = Object.keys(handlers);
  const scheduled = await schedulerPlugin(settings, context, { table, schedules, tasks, runs: works });
  const worker =
    works && tasks.length > 0
      ? await workerPlugin(settings, context, { table, handlers, metrics })
      : undefined;
  const nextTicks = scheduled && (() => scheduled.scheduler.nextTicks());
  const page = { table, path: settings.page, guard, schedules: nextTicks };
  return {
    parts: {
      checks: [...(worker?.checks ?? []), ...(scheduled?.checks ?? [])],
      schemas: scheduled?.schemas,
      page: role === "worker" ? undefined : await queuePage(page, context),
      info: () => ({ table: settings.name, role, tasks, schedules: nextTicks?.() ?? [] }),
    },
    feeds: scheduled?.work ?? [],
    worker: worker?.work ?? [],
  };
}

function allHandlers(
  jobs: Readonly<Record<string, JobHandler>>,
  subscribers: Readonly<Record<string, JobHandler>>,
): Readonly<Record<string, JobHandler>> {
  const [twice] = Object.keys(jobs).filter((task) => Object.hasOwn(subscribers, task));
  if (twice !== undefined) {
    const message = "is the task of a subscriber; give the job another name";
    throw new ConfigurationError("createService()", [{ key: `jobs.${twice}`, message }]);
  }
  return { ...jobs, ...subscribers };
}

// Code that nobody will ever call must not be taken for code that is.
function refuseUnused({ queue, events }: JobSettings, code: JobCode): void {
  const isGiven = (value: object): boolean => Object.keys(value).length > 0;
  const needs: readonly (readonly [option: string, plugin: string, isUseless: boolean])[] = [
    ["jobs", "queue", queue === undefined && isGiven(code.jobs)],
    ["subscribers", "events", events === undefined && isGiven(code.subscribers)],
    ["schedules", "queue", queue === undefined && isGiven(code.schedules)],
    ["queue", "queue", queue === undefined && code.guard !== undefined],
    ["db", "queue", queue === undefined && events === undefined && code.db !== undefined],
  ];
  const faults = needs.flatMap(([option, plugin, isUseless]) =>
    isUseless
      ? [
          {
            key: option,
            message: `is of no use without the plugin ${plugin}; enable it, or take ${option} away`,
          },
        ]
      : [],
  );
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}

function refuseIdle(): never {
  const message =
    "worker has nothing to work on: give createService() jobs, subscribers or schedules, and enable their plugins";
  throw new ConfigurationError("createService()", [{ key: "role", message }]);
}
