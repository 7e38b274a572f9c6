import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { JobHandler, JobTable } from "@svc/job-table";
import type { MetricsMiddleware } from "@svc/metrics";
import type { Service } from "../service.ts";
import type { BackgroundPart } from "../work/parts.ts";
import { eventsPlugin } from "./events.ts";
import { boundJobs, boundSubscribers, type JobCode } from "./job-code.ts";
import { allHandlers, type JobSettings, refuseUseless } from "./job-refusals.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";
import { queuePage } from "./queue-page.ts";
import { queuePlugin, type QueueSettings } from "./queue.ts";
import { schedulerPlugin } from "./schedules.ts";
import { workerPlugin } from "./worker.ts";

/** The parts of other plugins that jobs need. */
export interface JobSurroundings {
  readonly db: Database | undefined;
  readonly metrics: MetricsMiddleware | undefined;
  readonly serviceOf: () => Service;
}

/** The parts of a service for jobs and events. */
export interface JobParts {
  readonly queue: PluginParts | undefined;
  readonly eventParts: PluginParts | undefined;
  /** The background parts in the order of their stop: first those that create jobs, then the worker. */
  readonly work: readonly BackgroundPart[];
  readonly jobs: JobTable | undefined;
  readonly events: Events | undefined;
  readonly inbox: Inbox | undefined;
}

/** Creates the queue, the events, and the background parts that work on them. */
export async function jobParts(
  settings: JobSettings,
  context: PluginContext,
  code: JobCode,
  { db: pluginDb, metrics, serviceOf }: JobSurroundings,
): Promise<JobParts> {
  const { noted } = context;
  const db = code.db ?? pluginDb;
  const works = code.role !== "server";
  await noted(() => refuseUseless(settings, code));
  const { queue: queueSettings, events: eventsSettings } = settings;
  const queue = queueSettings && (await noted(() => queuePlugin(queueSettings, context, db)));
  // When the queue was refused, leave out its subscribers, which would be refused a second time.
  const lacksQueue = queueSettings !== undefined && queue === undefined;
  const subscribers = lacksQueue ? {} : boundSubscribers(code.subscribers, serviceOf);
  const events =
    eventsSettings &&
    (await eventsPlugin(eventsSettings, context, { jobs: queue?.jobs, db, subscribers, works }));
  const own = boundJobs(code.jobs, serviceOf);
  const handlers = (await noted(() => allHandlers(own, events?.events?.handlers ?? {}))) ?? {};
  const onTable =
    queueSettings &&
    queue &&
    (await onTheTable(queueSettings, context, code, { jobs: queue.jobs, handlers, metrics, works }));
  return {
    queue: queue && {
      ...onTable?.parts,
      checks: [...(queue.checks ?? []), ...(onTable?.parts.checks ?? [])],
      schemas: [...(queue.schemas ?? []), ...(onTable?.parts.schemas ?? [])],
    },
    eventParts: events,
    work: [...(onTable?.feeds ?? []), ...(events?.work ?? []), ...(onTable?.worker ?? [])],
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

/** Creates the worker, the schedules and the queue page. */
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
  const { noted } = context;
  const scheduled = await noted(() =>
    schedulerPlugin(settings, context, { table, schedules, tasks, runs: works }),
  );
  const worker =
    works && tasks.length > 0
      ? await noted(() => workerPlugin(settings, context, { table, handlers, metrics }))
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
