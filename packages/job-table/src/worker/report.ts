import { atMostEvery, createEmitter, safeLogger } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";
import { errorText } from "../error-text.ts";
import type { Job } from "../job.ts";
import { EXHAUSTED } from "../sql/claimed-row.ts";
import { traceContextOf } from "../trace.ts";
import type { Completion, Outcome } from "./completions.ts";
import type { ResolvedWorker, WorkerEvent } from "./options.ts";
import { announcementOf, tasksIn } from "./session.ts";

/** Reports a worker's actions to the log and the listener. Never throws. */
export interface Report {
  /** Calls the listener. If it throws, this is only logged. */
  emit(event: WorkerEvent): void;
  completed(completion: Completion, outcome: Outcome): void;
  /** Reports a job whose lease expired on the last attempt (JOB-22). */
  exhausted(job: Job): void;
  fault(error: unknown): void;
  /** Reports that statements succeed again after this many failures. */
  answersAgain(failures: number): void;
  pooler(): void;
  announcement(theirs: string): void;
  /** Reports that the handlers in all slots ignore their signals. */
  ignoredSignals(): void;
  /** Reports how many completions were unwritten when the worker stopped. */
  unrecorded(jobs: number): void;
}

const FAULT_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

/** Creates the report. Every log record about a job has the ids of the job, its request, trace and tenant (JOB-18). */
export function createReport(
  options: Pick<ResolvedWorker, "logger" | "onEvent" | "table" | "handlers">,
): Report {
  const logger = safeLogger(options.logger);
  const table = options.table.name;
  const ours = announcementOf(options.handlers.keys());
  const { emit } = createEmitter(options.onEvent, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "a worker event listener threw an error"),
  );
  const logFault = atMostEvery(FAULT_EVERY_MS, (suppressed, error: unknown) =>
    logger?.error({ table, reason: safeErrorText(error), suppressed }, "the job table does not answer"),
  );
  const warnOfOthers = atMostEvery(HOUR_MS, (_suppressed, theirs: string) =>
    logger?.warn(
      { table, handlers: tasksIn(ours), others: tasksIn(theirs) },
      "another worker of this table has different handlers: each worker claims every job, and marks a job dead if it has no handler for the task",
    ),
  );

  return {
    emit,
    completed({ job, durationMs, error, kind, traceId }, outcome) {
      const fields = (): object => ({
        ...fieldsOf(job, traceId),
        duration_ms: Math.round(durationMs * 1000) / 1000,
      });
      switch (outcome) {
        case "done":
          logger?.info(fields(), "job done");
          return emit({ type: "done", job, durationMs });
        case "pending":
          logger?.warn({ ...fields(), reason: errorText(error) }, "the job failed and will be retried");
          return emit({ type: "failed", job, durationMs, error });
        case "dead":
          logger?.error({ ...fields(), reason: errorText(error) }, "job is dead");
          return emit({ type: "dead", job, durationMs, error });
        case "released":
          logger?.info(fields(), "job released");
          return emit({ type: "released", job });
        case "lost":
          logger?.error({ ...fields(), ended: kind }, "a job ended after its lease had expired");
          return emit({ type: "lease_lost", job, ended: kind });
      }
    },
    exhausted(job) {
      logger?.error({ ...fieldsOf(job), reason: EXHAUSTED }, "job is dead");
      emit({ type: "dead", job, durationMs: 0, error: new Error(EXHAUSTED) });
    },
    fault(error) {
      logFault(error);
      emit({ type: "fault", error });
    },
    answersAgain: (failures) => logger?.info({ table, failures }, "the job table answers again"),
    pooler: atMostEvery(HOUR_MS, () =>
      logger?.warn(
        { table },
        "the worker's connection goes through a pooler: listen must be false unless the pooler uses session mode",
      ),
    ),
    announcement(theirs) {
      if (theirs !== ours) warnOfOthers(theirs);
    },
    ignoredSignals: () =>
      logger?.error({ table }, "handlers ignore their signals: no job is claimed until one of them ends"),
    unrecorded: (jobs) =>
      logger?.error({ table, jobs }, "could not record that jobs have ended; their leases will expire"),
  };
}

/** Returns the fields of a log record about a job (JOB-18). */
function fieldsOf(job: Job, spanTraceId?: string): Record<string, unknown> {
  const { id, task, attempts, requestId, tenantId, trace } = job;
  const fields: Record<string, unknown> = { job_id: id, task, attempts };
  if (requestId !== undefined) fields["request_id"] = requestId;
  const traceId = spanTraceId ?? traceContextOf(trace)?.traceId;
  if (traceId !== undefined) fields["trace_id"] = traceId;
  if (tenantId !== undefined) fields["tenant_id"] = tenantId;
  return fields;
}
