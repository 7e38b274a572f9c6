import { JobError } from "../errors.ts";
import type { Job } from "../job.ts";
import { payloadFaultOf } from "../payload.ts";
import type { Ends } from "./ends.ts";
import type { ResolvedWorker } from "./options.ts";
import { runHandler, RunningJob } from "./running-job.ts";

/** The claimed jobs of a worker. */
export interface Slots {
  /** The number of running handlers, without those of abandoned jobs. */
  readonly running: number;
  /** Returns how many more jobs may be claimed, besides those already asked for. */
  room(asked: number): number;
  /** Whether a job that arrives now starts at once, besides those already asked for. */
  isFree(asked: number): boolean;
  /** Starts jobs, or keeps them for the next free slot. */
  accept(jobs: readonly Job[], claimedAt: number): void;
  /** Starts no further job; releases the waiting ones. */
  close(): void;
  /** Aborts the signals of running jobs (JOB-11). */
  abort(): void;
  /** Releases jobs that still run; their handlers continue without effect on the table. */
  abandon(): void;
}

const MAX_GRACE_MS = 5000;

/**
 * @param onChange called when a job has ended or room became free
 * @param onStuck called when so many handlers ignore their signals that no more jobs are claimed
 */
export function createSlots(
  options: ResolvedWorker,
  ends: Ends,
  onChange: () => void,
  onStuck: () => void,
): Slots {
  const { handlers, concurrency, prefetch, jobTimeoutMs, visibilityMs, around, logger } = options;
  // The time between the job's timeout and the end of its lease in which a handler may react to its signal.
  const graceMs = Math.min(MAX_GRACE_MS, (visibilityMs - jobTimeoutMs) / 2);
  const all = concurrency + prefetch;
  const running = new Set<RunningJob>();
  let waiting: { readonly job: Job; readonly claimedAt: number }[] = [];
  let left = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  // Also limit the outcomes that wait for the database.
  const isShut = (): boolean => closed || left >= concurrency || ends.size > 2 * all;

  function end(kind: "done" | "failed" | "released", of: RunningJob, error?: unknown): void {
    const { job, claimedAt, startedAt } = of;
    ends.add({ kind, job, claimedAt, durationMs: performance.now() - startedAt, error, bury: false });
  }

  function settle(job: RunningJob, failed: boolean, error: unknown): void {
    if (job.abandoned) left -= 1;
    else {
      running.delete(job);
      if (!failed) end("done", job);
      else if (job.stopped?.code === "ERR_SVC_JOB_STOPPED") end("released", job);
      else end("failed", job, error);
      fill();
    }
    onChange();
  }

  function start(job: Job, claimedAt: number): void {
    const handler = handlers.get(job.task);
    if (handler === undefined) {
      bury(
        job,
        claimedAt,
        new JobError("ERR_SVC_JOB_UNKNOWN", `there is no handler for the task ${job.task}`),
      );
      return;
    }
    const fault = payloadFaultOf(job);
    if (fault !== undefined) {
      bury(job, claimedAt, fault);
      return;
    }
    const begun = new RunningJob(job, claimedAt);
    running.add(begun);
    if (running.size === 1) watch();
    runHandler(begun, handler, around, logger).then(
      () => settle(begun, false, undefined),
      (error: unknown) => settle(begun, true, error),
    );
  }

  /** Dead-letters a job that no attempt could complete. */
  function bury(job: Job, claimedAt: number, error: JobError): void {
    ends.add({ kind: "failed", job, claimedAt, durationMs: 0, error, bury: true });
  }

  /** Starts waiting jobs. Releases one whose remaining lease is too short, with its attempt. */
  function fill(): void {
    while (waiting.length > 0 && running.size < concurrency) {
      const next = waiting.shift();
      if (next === undefined) return;
      if (visibilityMs - (performance.now() - next.claimedAt) >= jobTimeoutMs + graceMs)
        start(next.job, next.claimedAt);
      else giveBack(next.job, next.claimedAt);
    }
  }

  function giveBack(job: Job, claimedAt: number): void {
    ends.add({ kind: "released", job, claimedAt, durationMs: 0, bury: false });
  }

  function leave(job: RunningJob): void {
    running.delete(job);
    job.abandoned = true;
    left += 1;
    if (left === concurrency) onStuck();
  }

  // Jobs are in order of their start and share one timeout, so only the first ones can be due.
  function watch(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      const now = performance.now();
      for (const job of running) {
        if (now - job.startedAt < jobTimeoutMs) break;
        if (job.stopped === undefined) expire(job);
      }
      if (running.size > 0) watch();
    }, nextDue()).unref();
  }

  function nextDue(): number {
    for (const { stopped, startedAt } of running) {
      if (stopped === undefined) return Math.max(1, startedAt + jobTimeoutMs - performance.now());
    }
    return jobTimeoutMs;
  }

  function expire(job: RunningJob): void {
    const reason = new JobError(
      "ERR_SVC_JOB_TIMEOUT",
      `the job took longer than ${Math.round(jobTimeoutMs)} ms`,
    );
    job.abort(reason);
    setTimeout(() => {
      if (!running.has(job)) return;
      leave(job);
      end("failed", job, reason);
      fill();
      onChange();
    }, graceMs).unref();
  }

  return {
    get running() {
      return running.size;
    },
    room(asked) {
      if (isShut()) return 0;
      const room = all - running.size - waiting.length - asked;
      return waiting.length + asked === 0 || room >= Math.floor(all / 2) ? room : 0;
    },
    isFree: (asked) => waiting.length === 0 && running.size + asked < concurrency && !isShut(),
    accept(jobs, claimedAt) {
      for (const job of jobs) {
        // After the lease's end another worker may have the job.
        if (closed || performance.now() - claimedAt >= visibilityMs) giveBack(job, claimedAt);
        else if (!handlers.has(job.task) || running.size < concurrency) start(job, claimedAt);
        else waiting.push({ job, claimedAt });
      }
    },
    close() {
      closed = true;
      for (const { job, claimedAt } of waiting) giveBack(job, claimedAt);
      waiting = [];
    },
    abort() {
      const reason = new JobError("ERR_SVC_JOB_STOPPED", "the worker stops");
      for (const job of running) job.abort(reason);
    },
    abandon() {
      for (const job of running) {
        leave(job);
        if (job.stopped?.code === "ERR_SVC_JOB_TIMEOUT") end("failed", job, job.stopped);
        else end("released", job);
      }
    },
  };
}
