import { TableError } from "@svc/sql";

/** The codes of {@link JobError}. */
export type JobErrorCode =
  | "ERR_SVC_JOB_ARGUMENT"
  | "ERR_SVC_JOB_TIMEOUT"
  | "ERR_SVC_JOB_STOPPED"
  | "ERR_SVC_JOB_UNKNOWN"
  | "ERR_SVC_JOB_PAYLOAD"
  | "ERR_SVC_JOB_SCHEMA";

/**
 * `ERR_SVC_JOB_ARGUMENT`: a job, lease or number is invalid; nothing was sent to the database. The other codes say why
 * a job was aborted or failed: `_TIMEOUT` and `_STOPPED` are abort reasons of a handler's signal; `_UNKNOWN`: the task
 * has no handler (JOB-10); `_PAYLOAD`: the payload cannot be read, or has an integer that JavaScript would round
 * (JOB-33). `_SCHEMA`: the payload does not match the schema of its task; when queueing, nothing was sent to the database.
 */
export class JobError extends TableError<JobErrorCode> {
  override readonly name = "JobError";
}

export function refused(message: string, cause?: unknown): JobError {
  return new JobError("ERR_SVC_JOB_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
