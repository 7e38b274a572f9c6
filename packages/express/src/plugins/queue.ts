import type { Table } from "@svc/config";
import type { JobTable, JobTableOptions } from "@svc/job-table";
import { boolean, ConfigurationError, integer, number, optional, string, withDefault } from "@svc/options";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.queue]`. */
export interface QueueSettings {
  /** The table of the jobs, as name or `schema.name` (JOB-1). Default: svc_jobs. */
  readonly name: string;
  /** How long a claimed job is leased, in seconds (JOB-14). Default: 300. */
  readonly visibilityTimeoutSeconds: number;
  /** Time limit of a job in seconds, after which it is aborted and fails (JOB-26). Default: 0.8 of the visibility timeout. */
  readonly jobTimeoutSeconds: number | undefined;
  /** How many jobs a process runs at once (JOB-26). Default: 4. */
  readonly concurrency: number;
  /** How many jobs are claimed in advance, before a slot is free (JOB-23). Default: 0. */
  readonly prefetch: number;
  /** How long a stopping worker waits for running jobs, in seconds (JOB-26). Default: 25. */
  readonly drainSeconds: number;
  /** How often an idle worker polls the table, in seconds. Default: 1. */
  readonly pollSeconds: number;
  /** Whether the worker uses LISTEN on a separate connection; false behind a transaction pooler. Default: true. */
  readonly listen: boolean;
  /** The largest payload as JSON, in bytes. Default: 1,048,576. */
  readonly maxPayloadBytes: number;
  /** How often jobs are counted for `/metrics`, in seconds; 0: never. Default: 0. */
  readonly depthEverySeconds: number;
  /** The table of the ticks of schedules, in the same database. Default: svc_schedule_ticks. */
  readonly ticksTable: string;
  /** How many days ticks are kept. Default: 7. */
  readonly retentionDays: number;
  /** The path of the queue page, outside `prod` (JOB-32); empty: no page. Default: /queue. */
  readonly page: string;
}

export const queueTable: Table<QueueSettings> = {
  keys: {
    name: { key: "name", kind: withDefault(string(), "svc_jobs") },
    visibilityTimeoutSeconds: {
      key: "visibility_timeout",
      kind: withDefault(number({ min: 1, max: 86_400 }), 300),
    },
    jobTimeoutSeconds: { key: "job_timeout", kind: optional(number({ min: 0.001, max: 86_400 })) },
    concurrency: { key: "concurrency", kind: withDefault(integer({ min: 1, max: 1000 }), 4) },
    prefetch: { key: "prefetch", kind: withDefault(integer({ min: 0, max: 1000 }), 0) },
    drainSeconds: { key: "drain", kind: withDefault(number({ min: 0, max: 86_400 }), 25) },
    pollSeconds: { key: "poll", kind: withDefault(number({ min: 0.01, max: 1 }), 1) },
    listen: { key: "listen", kind: withDefault(boolean(), true) },
    maxPayloadBytes: {
      key: "max_payload_bytes",
      kind: withDefault(integer({ min: 2, max: 64 * 2 ** 20 }), 2 ** 20),
    },
    depthEverySeconds: { key: "depth_every", kind: withDefault(number({ min: 0, max: 86_400 }), 0) },
    ticksTable: { key: "ticks_table", kind: withDefault(string(), "svc_schedule_ticks") },
    retentionDays: { key: "ticks_retention_days", kind: withDefault(integer({ min: 1, max: 3650 }), 7) },
    page: {
      key: "page",
      kind: withDefault(
        string({
          allowEmpty: true,
          pattern: /^(?:(?:\/[\w~-][\w.~-]*)+)?$/,
          expects: 'a path such as "/queue", or "" for no page',
        }),
        "/queue",
      ),
    },
  },
  check({ jobTimeoutSeconds, visibilityTimeoutSeconds }) {
    if (jobTimeoutSeconds === undefined || jobTimeoutSeconds < visibilityTimeoutSeconds) return [];
    const message = `must be less than visibility_timeout, ${visibilityTimeoutSeconds}; it is ${jobTimeoutSeconds}`;
    return [{ key: "job_timeout", message }];
  },
};

/** The database of the jobs. */
export type JobDatabase = JobTableOptions["db"];

/** Returns the table of the jobs and its readiness check. */
export async function queuePlugin(
  settings: QueueSettings,
  { profile }: PluginContext,
  db: JobDatabase | undefined,
): Promise<PluginParts & { readonly jobs: JobTable }> {
  if (db === undefined) refuseWithoutDatabase();
  const { createJobTable } = await import("@svc/job-table");
  const { name, visibilityTimeoutSeconds, maxPayloadBytes } = settings;
  const by = { plugin: "queue", table: queueTable, profile, maker: "createJobTable()" } as const;
  const jobs = namedAsConfigured(by, () =>
    createJobTable({ db, name, visibilityTimeoutSeconds, maxPayloadBytes }),
  );
  return {
    jobs,
    checks: [jobs.readiness()],
    schemas: [{ key: "plugin.queue.name", ensureSchema: () => jobs.ensureSchema() }],
  };
}

function refuseWithoutDatabase(): never {
  const message =
    "contains queue, whose jobs stand in a database: add database, or give createService() a db of your own";
  throw new ConfigurationError("the service", [{ key: "plugins.enabled", message }]);
}
