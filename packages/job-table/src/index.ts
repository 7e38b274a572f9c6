export { JobError, type JobErrorCode } from "./errors.ts";
export { errorText, MAX_ERROR_LENGTH } from "./error-text.ts";
export type {
  DeadJob,
  Enqueued,
  FailOutcome,
  InTransaction,
  Job,
  JobStats,
  Lease,
  NewJob,
  TraceCarrier,
} from "./job.ts";
export { defineTasks, type InputsOf, type OutputsOf, type Tasks, type TaskSchemas } from "./tasks.ts";
export type { AnyTasks, NotInferred, TaskAndPayload, TaskJob } from "./task-types.ts";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./standard-schema.ts";
export { createJobTable, type FailOptions, type JobTable } from "./job-table.ts";
export { DEFAULT_TABLE, type JobTableOptions } from "./options.ts";
export { queueRoutes } from "./page/queue-routes.ts";
export type { QueueRoutesOptions, ScheduleRow } from "./page/options.ts";
export type { Migration } from "./schema.ts";
export { type EnqueuePart, type TableAccess, tableAccess } from "./table-access.ts";
export type { JobContext, JobHandler, TaskHandlers, WorkerEvent, WorkerOptions } from "./worker/options.ts";
export { createWorker, type Worker } from "./worker/worker.ts";
