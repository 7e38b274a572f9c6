import { isRequestId, type Logger, mintRequestId, RequestContext, runWithContext } from "@svc/context";
import { JobError } from "../errors.ts";
import type { Job, TraceCarrier } from "../job.ts";
import { traceContextOf } from "../trace.ts";

/** A job whose handler runs. */
export class RunningJob {
  readonly job: Job;
  readonly startedAt: number;
  /** Taken before the claim was sent, so the lease is not older than this. */
  readonly claimedAt: number;
  /** The reason of its aborted signal. */
  stopped: JobError | undefined;
  /** Its outcome was recorded while the handler still ran. */
  abandoned = false;
  #controller: AbortController | undefined;

  constructor(job: Job, claimedAt: number) {
    this.job = job;
    this.claimedAt = claimedAt;
    this.startedAt = performance.now();
  }

  get id(): string {
    return this.job.id;
  }
  get task(): string {
    return this.job.task;
  }
  /** The number of this attempt, starting at 1. */
  get attempts(): number {
    return this.job.attempts;
  }
  get maxAttempts(): number {
    return this.job.maxAttempts;
  }
  get requestId(): string | undefined {
    return this.job.requestId;
  }
  /** The tenant of the job and of the current context. */
  get tenantId(): string | undefined {
    return this.job.tenantId;
  }
  get trace(): TraceCarrier | undefined {
    return this.job.trace;
  }
  /** Aborted at the job's timeout, and when the worker stops and cannot wait. Created on first use. */
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

/** What a handler receives besides the payload. */
export type JobContext = Pick<
  RunningJob,
  "id" | "task" | "attempts" | "maxAttempts" | "requestId" | "tenantId" | "trace" | "signal"
>;

// Method parameters are bivariant, so a handler may declare the payload type that it expects.
interface Handlers {
  handle(payload: unknown, job: JobContext): unknown;
}

/** Does the work of a task. The job fails when it throws or rejects. */
export type JobHandler = Handlers["handle"];

/** Wraps a handler: calls `run` and awaits it. */
export type Around = (job: JobContext, run: () => Promise<void>) => Promise<void>;

/** Returns the fields of a log line about a job (JOB-18). */
export function fieldsOf(job: Job): Record<string, unknown> {
  const { id, task, attempts, requestId, tenantId, trace } = job;
  const fields: Record<string, unknown> = { job_id: id, task, attempts };
  if (requestId !== undefined) fields["request_id"] = requestId;
  const context = traceContextOf(trace);
  if (context !== undefined) fields["trace_id"] = context.traceId;
  if (tenantId !== undefined) fields["tenant_id"] = tenantId;
  return fields;
}

/**
 * Runs a handler in a context with the job's request id, tenant and trace (JOB-17, JOB-18), so its logs, jobs and calls
 * carry them. A job without a request id uses its own id.
 */
export function runHandler(
  running: RunningJob,
  handler: JobHandler,
  around: Around | undefined,
  log: Logger | undefined,
): Promise<void> {
  const { id, payload, requestId = id, tenantId, trace } = running.job;
  const context = new RequestContext({
    requestId: isRequestId(requestId) ? requestId : mintRequestId(),
    trace: traceContextOf(trace),
    tenantId,
    log,
  });
  const run = async (): Promise<void> => void (await handler(payload, running));
  if (around === undefined) return runWithContext(context, run);
  return runWithContext(context, async () => {
    let ran: Promise<void> | undefined;
    try {
      await around(running, () => (ran ??= run()));
    } finally {
      // Wait even if `around` did not: the job lasts as long as its handler, and fails with it.
      await ran?.catch(() => undefined);
    }
    if (ran === undefined) throw new Error("around() has not called the handler");
    await ran;
  });
}
