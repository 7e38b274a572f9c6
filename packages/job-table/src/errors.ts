import { TableError } from "@svc/sql";

/** The codes of {@link JobError}. */
export type JobErrorCode =
  | "ERR_SVC_JOB_ARGUMENT"
  | "ERR_SVC_JOB_TIMEOUT"
  | "ERR_SVC_JOB_STOPPED"
  | "ERR_SVC_JOB_UNKNOWN"
  | "ERR_SVC_JOB_PAYLOAD";

/**
 * `ERR_SVC_JOB_ARGUMENT`: a job, lease or number is invalid; nothing was sent to the database. The other codes are
 * reasons: `_TIMEOUT` and `_STOPPED` for the aborted signal of a handler, `_UNKNOWN` for a job without a handler
 * (JOB-10), `_PAYLOAD` for a job whose payload JavaScript would round (JOB-33).
 */
export class JobError extends TableError<JobErrorCode> {
  override readonly name = "JobError";
}

export function refused(message: string, cause?: unknown): JobError {
  return new JobError("ERR_SVC_JOB_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
