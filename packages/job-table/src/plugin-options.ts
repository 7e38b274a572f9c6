import type { Middleware } from "@svc/context";
import {
  boolean,
  defineOptions,
  func,
  integer,
  number,
  optional,
  type ResolvedOptions,
  string,
  withDefault,
} from "@svc/options";
import { tasksKind } from "./tasks.ts";

/** The options in `[plugin.queue]`, except for schedules. */
export const queueOptions = defineOptions(
  "[plugin.queue]",
  {
    /** The table for jobs, as name or `schema.name` (JOB-1). Default: svc_jobs. */
    name: { key: "name", kind: withDefault(string(), "svc_jobs") },
    /** How many seconds a claimed job is leased (JOB-14). Default: 300. */
    visibilityTimeoutSeconds: {
      key: "visibility_timeout",
      kind: withDefault(number({ min: 1, max: 86_400 }), 300),
    },
    /**
     * Time limit for a job in seconds, after which it is aborted and fails (JOB-26). Default: 0.8 of the visibility
     * timeout.
     */
    jobTimeoutSeconds: { key: "job_timeout", kind: optional(number({ min: 0.001, max: 86_400 })) },
    /** How many jobs a process runs concurrently (JOB-26). Default: 4. */
    concurrency: { key: "concurrency", kind: withDefault(integer({ min: 1, max: 1000 }), 4) },
    /** How many jobs are claimed in advance, before a slot is free (JOB-23). Default: 0. */
    prefetch: { key: "prefetch", kind: withDefault(integer({ min: 0, max: 1000 }), 0) },
    /** How many seconds a stopping worker waits for running jobs (JOB-26). Default: 25. */
    drainSeconds: { key: "drain", kind: withDefault(number({ min: 0, max: 86_400 }), 25) },
    /** How often an idle worker polls the table, in seconds. Default: 1. */
    pollSeconds: { key: "poll", kind: withDefault(number({ min: 0.01, max: 1 }), 1) },
    /**
     * Whether an idle worker claims a job of its own process in the statement that queues the job; false spreads the jobs of one
     * process over all workers. Default: true.
     */
    claimOnEnqueue: { key: "claim_on_enqueue", kind: withDefault(boolean(), true) },
    /** Whether the worker uses LISTEN on a separate connection; false behind a transaction pooler. Default: true. */
    listen: { key: "listen", kind: withDefault(boolean(), true) },
    /** Maximum size of a payload as JSON, in bytes. Default: 1,048,576. */
    maxPayloadBytes: {
      key: "max_payload_bytes",
      kind: withDefault(integer({ min: 2, max: 64 * 2 ** 20 }), 2 ** 20),
    },
    /** How often jobs are counted for `/metrics`, in seconds; 0 turns this off. Default: 0. */
    depthEverySeconds: { key: "depth_every", kind: withDefault(number({ min: 0, max: 86_400 }), 0) },
    /** Path of the queue page, which is always off in `prod` (JOB-32); an empty path turns it off. Default: /queue. */
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
    /**
     * Middleware that decides which callers may see the queue page and retry dead jobs (JOB-32). Default: every caller
     * in `local`, elsewhere callers with the role `admin`.
     */
    guard: { kind: optional(func<Middleware>()) },
    /** The result of `defineTasks()`, whose schemas check the payloads of jobs. Default: none. */
    tasks: { kind: optional(tasksKind) },
  },
  ({ jobTimeoutSeconds, visibilityTimeoutSeconds }, name) => {
    if (jobTimeoutSeconds === undefined || jobTimeoutSeconds < visibilityTimeoutSeconds) return [];
    const message = `must be less than ${name("visibilityTimeoutSeconds")} (${visibilityTimeoutSeconds}); it is ${jobTimeoutSeconds}`;
    return [{ key: "jobTimeoutSeconds", message }];
  },
);

export type QueuePluginSettings = ResolvedOptions<(typeof queueOptions)["keys"]>;
