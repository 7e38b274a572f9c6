import { type EventsSettings, writesOutbox } from "@svc/events/plugin";
import type { JobHandler } from "@svc/job-table";
import { ConfigurationError, type Fault } from "@svc/options";
import type { JobCode } from "./job-code.ts";
import type { QueueSettings } from "./queue-table.ts";

/** The parts of the configuration about jobs. */
export interface JobSettings {
  readonly queue?: QueueSettings | undefined;
  readonly events?: EventsSettings | undefined;
  readonly database?: { readonly max: number } | undefined;
  readonly metrics?: { readonly path: string } | undefined;
}

/**
 * Returns the faults of configurations that silently would not work: code that is never called, a worker without work, a
 * worker that would wait for its own connection, and a queue page that would hide a probe.
 */
export function faultsOfJobs(settings: JobSettings, code: JobCode): readonly Fault[] {
  return [unused, idle, cramped, taken].flatMap((faultsOf) => faultsOf(settings, code));
}

/**
 * Returns all handlers of a worker.
 *
 * @throws ConfigurationError for a job with the name of a subscriber's task
 */
export function allHandlers(
  jobs: Readonly<Record<string, JobHandler>>,
  subscribers: Readonly<Record<string, JobHandler>>,
): Readonly<Record<string, JobHandler>> {
  const faults = Object.keys(jobs)
    .filter((task) => Object.hasOwn(subscribers, task))
    .map((task) => ({
      key: `jobs.${task}`,
      message: "is the task of a subscriber; give the job another name",
    }));
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
  return { ...jobs, ...subscribers };
}

function unused({ queue, events }: JobSettings, code: JobCode): Fault[] {
  const needs: readonly (readonly [option: string, plugin: string, isUseless: boolean])[] = [
    ["jobs", "queue", queue === undefined && isGiven(code.jobs)],
    ["subscribers", "events", events === undefined && isGiven(code.subscribers)],
    ["schedules", "queue", queue === undefined && isGiven(code.schedules)],
    ["db", "queue", queue === undefined && events === undefined && code.db !== undefined],
  ];
  return needs.flatMap(([option, plugin, isUseless]) =>
    isUseless
      ? [
          {
            key: option,
            message: `is of no use without the plugin ${plugin}; enable it, or take ${option} away`,
          },
        ]
      : [],
  );
}

function idle({ queue, events }: JobSettings, code: JobCode): Fault[] {
  const onQueue = [code.jobs, code.subscribers, code.schedules].some(isGiven);
  // Pruning the inbox alone does not justify a worker process.
  const works = (queue !== undefined && onQueue) || (events !== undefined && writesOutbox(events));
  if (code.role !== "worker" || works) return [];
  const message =
    "worker has nothing to work on: give createService() jobs, subscribers or schedules, and enable their plugins";
  return [{ key: "role", message }];
}

// The worker would listen on the only connection, and wait forever for another one.
function cramped({ queue, database }: JobSettings, code: JobCode): Fault[] {
  const listens = queue?.listen === true && [code.jobs, code.subscribers].some(isGiven);
  if (code.role === "server" || code.db !== undefined || !listens || database?.max !== 1) return [];
  const message =
    "must be above 1 where there are jobs, whose worker listens on one connection; or set plugin.queue.listen to false";
  return [{ key: "plugin.database.max", message }];
}

// The page runs before these routes, so it would hide the state of the service.
function taken({ queue, metrics }: JobSettings): Fault[] {
  const paths = ["/health", "/ready", "/info", ...(metrics === undefined ? [] : [metrics.path])];
  if (queue === undefined || !paths.includes(queue.page)) return [];
  return [
    { key: "plugin.queue.page", message: `is ${queue.page}, which the service answers itself; name another` },
  ];
}

function isGiven(value: object): boolean {
  return Object.keys(value).length > 0;
}
