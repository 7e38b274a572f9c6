import type { Logger, SpanHook } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  func,
  integer,
  number,
  objectWith,
  optional,
  resolveOptions,
  withDefault,
} from "@svc/options";
import type { Job, JobStats, TraceCarrier } from "../job.ts";
import { type JobTable, optionsOf } from "../job-table.ts";
import type { ResolvedOptions as TableOptions } from "../options.ts";
import type { AnyTasks, NotInferred } from "../task-types.ts";

/** What a handler receives besides the payload. */
export interface JobContext {
  readonly id: string;
  readonly task: string;
  /** Number of this attempt, starting at 1. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly requestId: string | undefined;
  /** The tenant of the job, as in the current context. */
  readonly tenantId: string | undefined;
  readonly trace: TraceCarrier | undefined;
  /** Aborted at the job's timeout, and when a stopping worker ends its wait for the job. Created on first use. */
  readonly signal: AbortSignal;
}

// Method parameters are bivariant, so a handler may declare the payload type that it expects.
interface Handlers {
  handle(payload: unknown, job: JobContext): unknown;
}

/** Does the work of a task. The job fails when it throws or rejects. */
export type JobHandler = Handlers["handle"];

/** The handlers of a task map, one for each task. */
export type TaskHandlers<Received extends AnyTasks = AnyTasks> = string extends keyof Received
  ? Readonly<Record<string, JobHandler>>
  : { readonly [T in keyof Received & string]: (payload: Received[T], job: JobContext) => unknown };

/** Wraps a handler: calls `run` and awaits it. */
export type Around = (job: JobContext, run: () => Promise<void>) => Promise<void>;

/** An event that `onEvent` receives. Durations are in milliseconds. */
export type WorkerEvent =
  /** Jobs were claimed. `waitedMs` in each is how long it had been due. */
  | { readonly type: "claimed"; readonly jobs: readonly Job[] }
  /** A handler returned, and the job is deleted. */
  | { readonly type: "done"; readonly job: Job; readonly durationMs: number }
  /** A handler threw or timed out, and the job will be retried. */
  | { readonly type: "failed"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /** A job will not be retried: no attempts are left, its task has no handler, or its payload cannot be read. */
  | { readonly type: "dead"; readonly job: Job; readonly durationMs: number; readonly error: unknown }
  /**
   * A job was released and its attempt not counted: the worker is stopping, or the remaining lease was too short to
   * start the job.
   */
  | { readonly type: "released"; readonly job: Job }
  /**
   * A job ended after its lease expired, so another worker may have restarted it. `ended`: how it ended in this worker.
   */
  | { readonly type: "lease_lost"; readonly job: Job; readonly ended: "done" | "failed" | "released" }
  /** The number of jobs in each state, every `depthEverySeconds`. */
  | { readonly type: "depth"; readonly stats: JobStats }
  /** The database failed; the worker retries. */
  | { readonly type: "fault"; readonly error: unknown };

/** Options of {@link createWorker}. */
export interface WorkerOptions<Received extends AnyTasks = AnyTasks> {
  /** The result of `createJobTable()`. Required. */
  readonly table: JobTable<AnyTasks, Received>;
  /** Maps each task to its handler. A job with another task is dead immediately (JOB-10, JOB-20). Required. */
  readonly handlers: TaskHandlers<NotInferred<Received>>;
  /** Number of jobs that run concurrently (JOB-26), 1 to 1,000. Default: 4. */
  readonly concurrency?: number | undefined;
  /**
   * Number of jobs claimed in advance (JOB-23), 0 to 1,000. If it is at least `concurrency`, a listening worker takes a
   * second connection from a pool of six or more, to record outcomes while it claims. Default: 0.
   */
  readonly prefetch?: number | undefined;
  /**
   * Seconds after which a job is aborted and fails; must be less than the visibility timeout. Default: 0.8 times the
   * visibility timeout.
   */
  readonly jobTimeoutSeconds?: number | undefined;
  /** Seconds that `stop()` waits for running jobs (JOB-26), 0 to 86,400. Default: 25. */
  readonly drainSeconds?: number | undefined;
  /**
   * Milliseconds between polls of an idle table, 10 to 1,000; values above 500 act like 500 (JOB-34). A listening
   * worker polls a quiet table less often, down to once in 5 s. Default: 1,000.
   */
  readonly pollMs?: number | undefined;
  /**
   * Whether the worker keeps a pool connection and listens on it. Set it to false behind a transaction pooler such as
   * PgBouncer; the worker then polls. Default: true.
   */
  readonly listen?: boolean | undefined;
  /**
   * Whether an idle worker claims a job from its own process in the statement that queues it, which saves a commit and
   * a message. With false, any worker claims the job. Default: true.
   */
  readonly claimOnEnqueue?: boolean | undefined;
  /** Time limit for one statement, in milliseconds, 10 to 600,000. Default: 10,000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Seconds between `depth` events, each of which reads the whole table; 0 turns them off. Default: 0. */
  readonly depthEverySeconds?: number | undefined;
  /** Logger for every job that ends (JOB-18), and for database failures. Default: none. */
  readonly logger?: Logger | undefined;
  /** Receives every {@link WorkerEvent}, for metrics. Default: none. */
  readonly onEvent?: ((event: WorkerEvent) => void) | undefined;
  /**
   * Wraps every handler inside the job's context, for example to set a logger. It must call `run` and await it.
   * Default: none.
   */
  readonly around?: Around | undefined;
  /**
   * Starts a consumer span `job <task>` around every handler and its `around`, with the job's trace as parent (TRACE-13,
   * TRACE-20). Its errors do not affect the job; if it hangs, it delays the job by at most a second before the handler
   * and a second after it. Default: none.
   */
  readonly span?: SpanHook | undefined;
}

const SUBJECT = "createWorker()";
const TIMEOUT_SHARE = 0.8;

export type ResolvedWorker = Readonly<ReturnType<typeof resolveWorkerOptions>>;

/** @throws ConfigurationError */
export function resolveWorkerOptions(given: object) {
  const resolved = resolveOptions(SUBJECT, given, {
    table: objectWith<JobTable>("a job table", "claim", "ack", "fail", "release"),
    handlers: objectWith<Readonly<Record<string, JobHandler>>>("an object with a handler for every task"),
    concurrency: withDefault(integer({ min: 1, max: 1000 }), 4),
    prefetch: withDefault(integer({ min: 0, max: 1000 }), 0),
    jobTimeoutSeconds: optional(number({ min: 0.001 })),
    drainSeconds: withDefault(number({ min: 0, max: 86_400 }), 25),
    pollMs: withDefault(integer({ min: 10, max: 1000 }), 1000),
    listen: withDefault(boolean(), true),
    claimOnEnqueue: withDefault(boolean(), true),
    commandTimeoutMs: withDefault(integer({ min: 10, max: 600_000 }), 10_000),
    depthEverySeconds: withDefault(number({ min: 0, max: 86_400 }), 0),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    onEvent: optional(func<(event: WorkerEvent) => void>()),
    around: optional(func<Around>()),
    span: optional(func<SpanHook>()),
  });
  const on = optionsOf(SUBJECT, resolved.table);
  const { jobTimeoutSeconds = TIMEOUT_SHARE * on.visibilityTimeoutSeconds } = resolved;
  if (jobTimeoutSeconds >= on.visibilityTimeoutSeconds) {
    throw fault(
      "jobTimeoutSeconds",
      `must be less than the visibility timeout of the table, ${on.visibilityTimeoutSeconds}; it is ${jobTimeoutSeconds}`,
    );
  }
  return {
    ...resolved,
    on,
    handlers: handlersOf(resolved.handlers, on),
    jobTimeoutMs: jobTimeoutSeconds * 1000,
    visibilityMs: on.visibilityTimeoutSeconds * 1000,
    drainMs: resolved.drainSeconds * 1000,
  };
}

function handlersOf(
  given: Readonly<Record<string, JobHandler>>,
  { payloadCheck }: Pick<TableOptions, "payloadCheck">,
): ReadonlyMap<string, JobHandler> {
  const handlers = new Map<string, JobHandler>();
  for (const [task, handler] of Object.entries(given)) {
    if (typeof handler !== "function")
      throw fault("handlers", `the handler of ${JSON.stringify(task)} must be a function`);
    // A check that throws fails the attempt, as the handler itself would.
    const run: JobHandler =
      payloadCheck?.has(task) === true
        ? (payload, job) => handler.call(given, payloadCheck.ofClaimed(task, payload), job)
        : (payload, job) => handler.call(given, payload, job);
    handlers.set(task, run);
  }
  if (handlers.size === 0)
    throw fault(
      "handlers",
      "must contain at least one handler; otherwise the worker would mark every job dead",
    );
  return handlers;
}

function fault(key: string, message: string): ConfigurationError {
  return new ConfigurationError(SUBJECT, [{ key, message }]);
}
