import {
  inSpan,
  isRequestId,
  mintRequestId,
  RequestContext,
  runWithContext,
  type SpanAttributes,
} from "@svc/context";
import { JobError } from "../errors.ts";
import type { Job, TraceCarrier } from "../job.ts";
import { payloadFaultOf } from "../payload.ts";
import { traceContextOf } from "../trace.ts";
import type { Completion, Completions } from "./completions.ts";
import type { Around, JobContext, JobHandler, ResolvedWorker } from "./options.ts";
import type { Report } from "./report.ts";

class RunningJob implements JobContext {
  readonly id: string;
  readonly task: string;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly requestId: string | undefined;
  readonly tenantId: string | undefined;
  readonly trace: TraceCarrier | undefined;
  readonly job: Job;
  readonly startedAt: number;
  /** When the claim was sent, so that the lease cannot have started earlier. */
  readonly claimedAt: number;
  /** The reason with which the job's signal was aborted. */
  stopped: JobError | undefined;
  /** The trace of the job's span. */
  traceId: string | undefined;
  /** Whether the completion was recorded while the handler was still running. */
  abandoned = false;
  #controller: AbortController | undefined;

  constructor(job: Job, claimedAt: number) {
    this.id = job.id;
    this.task = job.task;
    this.attempts = job.attempts;
    this.maxAttempts = job.maxAttempts;
    this.requestId = job.requestId;
    this.tenantId = job.tenantId;
    this.trace = job.trace;
    this.job = job;
    this.claimedAt = claimedAt;
    this.startedAt = performance.now();
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.stopped !== undefined) this.#controller.abort(this.stopped);
    return this.#controller.signal;
  }

  abort(reason: JobError): void {
    this.stopped ??= reason;
    this.#controller?.abort(this.stopped);
  }
}

/**
 * Runs a handler in a context with the job's request id, tenant and trace (JOB-17, JOB-18), which its logs, jobs and
 * calls include. A job without a request id uses its own id.
 */
function runHandler(
  running: RunningJob,
  handler: JobHandler,
  { around, span, table, logger }: Pick<ResolvedWorker, "around" | "span" | "table" | "logger">,
): Promise<void> {
  const { id, task, payload, requestId = id, tenantId, trace } = running.job;
  const context = new RequestContext({
    requestId: isRequestId(requestId) ? requestId : mintRequestId(),
    trace: traceContextOf(trace),
    tenantId,
    log: logger,
  });
  const handle = async (): Promise<void> => void (await handler(payload, running));
  const run = around === undefined ? handle : (): Promise<void> => runAround(around, running, handle);
  if (span === undefined) return runWithContext(context, run);
  const attributes = spanAttributes(running.job, table.name);
  return runWithContext(context, () =>
    inSpan(span, `job ${task}`, "consumer", attributes, (open) => {
      running.traceId = open.trace?.traceId;
      return run();
    }),
  );
}

async function runAround(around: Around, job: JobContext, handle: () => Promise<void>): Promise<void> {
  let ran: Promise<void> | undefined;
  try {
    await around(job, () => (ran ??= handle()));
  } finally {
    // Wait even if `around` did not: the job ends when its handler ends, and fails if the handler fails.
    await ran?.catch(() => undefined);
  }
  if (ran === undefined) throw new Error("around() has not called the handler");
  await ran;
}

function spanAttributes({ id, attempts }: Job, table: string): SpanAttributes {
  return {
    "messaging.system": "svc_jobs",
    "messaging.destination.name": table,
    "messaging.message.id": id,
    "svc.job.attempts": attempts,
  };
}

/** A worker's claimed jobs, both running and in the prefetch buffer. */
export interface RunningJobs {
  /** Number of running handlers, without those for abandoned jobs. */
  readonly running: number;
  /** Returns how many more jobs may be claimed. `asked`: the number already requested. */
  room(asked: number): number;
  /** Returns whether a job that arrives now would start immediately. `asked`: the number already requested. */
  hasFreeSlot(asked: number): boolean;
  /** Starts jobs, or buffers them until a slot is free. */
  accept(jobs: readonly Job[], claimedAt: number): void;
  /** Starts no further jobs, and releases the buffered ones. */
  close(): void;
  /** Aborts the signals of the running jobs (JOB-11). */
  abort(): void;
  /** Releases jobs that are still running. Their handlers continue without effect on the table. */
  abandon(): void;
}

const MAX_GRACE_MS = 5000;

export function createRunningJobs(
  options: ResolvedWorker,
  completions: Completions,
  wakeup: { readonly ring: () => void },
  report: Pick<Report, "ignoredSignals">,
): RunningJobs {
  const { handlers, concurrency, prefetch, jobTimeoutMs, visibilityMs } = options;
  // Time after the job's timeout in which a handler may react to its signal, before the lease expires.
  const graceMs = Math.min(MAX_GRACE_MS, (visibilityMs - jobTimeoutMs) / 2);
  const all = concurrency + prefetch;
  const running = new Set<RunningJob>();
  let buffer: { readonly job: Job; readonly claimedAt: number }[] = [];
  let abandoned = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  // Abandoned handlers and unwritten completions still use resources, so limit their number.
  const acceptsNoMore = (): boolean => closed || abandoned >= concurrency || completions.size > 2 * all;

  function start(job: Job, claimedAt: number): void {
    const handler = handlers.get(job.task);
    const fault =
      handler === undefined
        ? new JobError("ERR_SVC_JOB_UNKNOWN", `there is no handler for the task ${job.task}`)
        : payloadFaultOf(job);
    if (handler === undefined || fault !== undefined) {
      // No attempt could complete the job.
      completions.add({ kind: "failed", job, claimedAt, durationMs: 0, error: fault, dead: true });
      return;
    }
    const begun = new RunningJob(job, claimedAt);
    running.add(begun);
    if (running.size === 1) watchTimeouts();
    runHandler(begun, handler, options).then(
      () => settle(begun, "done"),
      (error: unknown) => settle(begun, "failed", error),
    );
  }

  function settle(job: RunningJob, kind: "done" | "failed", error?: unknown): void {
    if (job.abandoned) abandoned -= 1;
    else {
      running.delete(job);
      const isStopped = kind === "failed" && job.stopped?.code === "ERR_SVC_JOB_STOPPED";
      complete(isStopped ? "released" : kind, job, error);
      fill();
    }
    wakeup.ring();
  }

  function complete(
    kind: Completion["kind"],
    { job, claimedAt, startedAt, traceId }: RunningJob,
    error?: unknown,
  ): void {
    const durationMs = performance.now() - startedAt;
    completions.add({ kind, job, claimedAt, durationMs, error, dead: false, traceId });
  }

  /** Starts buffered jobs. Releases a job whose remaining lease is too short, without counting the attempt. */
  function fill(): void {
    while (buffer.length > 0 && running.size < concurrency) {
      const next = buffer.shift();
      if (next === undefined) return;
      if (visibilityMs - (performance.now() - next.claimedAt) >= jobTimeoutMs + graceMs)
        start(next.job, next.claimedAt);
      else release(next.job, next.claimedAt);
    }
  }

  function release(job: Job, claimedAt: number): void {
    completions.add({ kind: "released", job, claimedAt, durationMs: 0, dead: false });
  }

  /** Frees the slot of a job whose handler is still running. */
  function abandon(job: RunningJob): void {
    running.delete(job);
    job.abandoned = true;
    abandoned += 1;
    if (abandoned === concurrency) report.ignoredSignals();
  }

  // Jobs are ordered by their start and share one timeout, so only the first ones can have timed out.
  function watchTimeouts(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      const now = performance.now();
      for (const job of running) {
        if (now - job.startedAt < jobTimeoutMs) break;
        if (job.stopped === undefined) expire(job);
      }
      if (running.size > 0) watchTimeouts();
    }, untilTimeout()).unref();
  }

  function untilTimeout(): number {
    for (const { stopped, startedAt } of running) {
      if (stopped === undefined) return Math.max(1, startedAt + jobTimeoutMs - performance.now());
    }
    return jobTimeoutMs;
  }

  function expire(job: RunningJob): void {
    const message = `the job took longer than ${Math.round(jobTimeoutMs)} ms`;
    const reason = new JobError("ERR_SVC_JOB_TIMEOUT", message);
    job.abort(reason);
    setTimeout(() => {
      if (!running.has(job)) return;
      abandon(job);
      complete("failed", job, reason);
      fill();
      wakeup.ring();
    }, graceMs).unref();
  }

  return {
    get running() {
      return running.size;
    },
    room(asked) {
      if (acceptsNoMore()) return 0;
      const room = all - running.size - buffer.length - asked;
      return buffer.length + asked === 0 || room >= Math.floor(all / 2) ? room : 0;
    },
    hasFreeSlot: (asked) => buffer.length === 0 && running.size + asked < concurrency && !acceptsNoMore(),
    accept(jobs, claimedAt) {
      for (const job of jobs) {
        // After the lease has expired, another worker may have claimed the job.
        if (closed || performance.now() - claimedAt >= visibilityMs) release(job, claimedAt);
        else if (!handlers.has(job.task) || running.size < concurrency) start(job, claimedAt);
        else buffer.push({ job, claimedAt });
      }
    },
    close() {
      closed = true;
      for (const { job, claimedAt } of buffer) release(job, claimedAt);
      buffer = [];
    },
    abort() {
      const reason = new JobError("ERR_SVC_JOB_STOPPED", "the worker is stopping");
      for (const job of running) job.abort(reason);
    },
    abandon() {
      for (const job of running) {
        abandon(job);
        if (job.stopped?.code === "ERR_SVC_JOB_TIMEOUT") complete("failed", job, job.stopped);
        else complete("released", job);
      }
    },
  };
}
