import { isRequestId, type Logger, mintRequestId, RequestContext, runWithContext } from "@svc/context";
import { JobError } from "../errors.ts";
import type { Job, TraceCarrier } from "../job.ts";
import { traceContextOf } from "../trace.ts";
import type { JobHandler, WorkerOptions } from "./options.ts";

/** A job that is being worked on. */
export class RunningJob {
  readonly job: Job;
  readonly startedAt: number;
  /** Before the statement that claimed it was sent: the lease is no older than that. */
  readonly claimedAt: number;
  /** Why its signal was aborted. */
  stopped: JobError | undefined;
  /** Its end was recorded while its handler went on. */
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
  /** Which attempt this is, 1 the first time. */
  get attempts(): number {
    return this.job.attempts;
  }
  get maxAttempts(): number {
    return this.job.maxAttempts;
  }
  get requestId(): string | undefined {
    return this.job.requestId;
  }
  /** The tenant that it runs as; also that of the current context. */
  get tenantId(): string | undefined {
    return this.job.tenantId;
  }
  get trace(): TraceCarrier | undefined {
    return this.job.trace;
  }
  /** Aborted when the job has taken too long, and when the worker stops and cannot wait. Made when it is asked for. */
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

/** Fields of a log line about a job (JOB-18). */
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
 * Runs a handler in a context with the job's request id, tenant and trace (JOB-17, JOB-18): what it logs, queues and calls
 * carries them on. A job without a request id is known by its own id.
 */
export function runHandler(
  running: RunningJob,
  handler: JobHandler,
  around: WorkerOptions["around"],
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
      // Whether or not it was awaited: the job lasts as long as its handler, and fails with it.
      await ran?.catch(() => undefined);
    }
    if (ran === undefined) throw new Error("around() has not called the handler");
    await ran;
  });
}
