/** What a {@link JobError} is about. */
export type JobErrorCode =
  | "ERR_SVC_JOB_ARGUMENT"
  | "ERR_SVC_JOB_TIMEOUT"
  | "ERR_SVC_JOB_STOPPED"
  | "ERR_SVC_JOB_UNKNOWN"
  | "ERR_SVC_JOB_PAYLOAD";

/**
 * `ERR_SVC_JOB_ARGUMENT`: a job, a lease or a number that the table does not take; nothing was sent to the database.
 * The others are reasons: of a signal that a handler gets (`_TIMEOUT`, `_STOPPED`), of a job without a handler
 * (`_UNKNOWN`, JOB-10), and of one whose payload JavaScript cannot hold (`_PAYLOAD`, JOB-33).
 */
export class JobError extends Error {
  override readonly name = "JobError";
  readonly code: JobErrorCode;

  constructor(code: JobErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function refused(message: string, cause?: unknown): JobError {
  return new JobError("ERR_SVC_JOB_ARGUMENT", message, cause === undefined ? undefined : { cause });
}
