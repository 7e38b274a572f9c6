import type { Logger } from "@svc/context";
import { fieldsOf } from "./running-job.ts";
import type { End, Recorded } from "./ends.ts";
import type { Tell } from "./events.ts";
import { errorText } from "../error-text.ts";
import type { Job } from "../job.ts";
import { EXHAUSTED } from "../sql/claim.ts";

/** Reports outcomes of jobs to the log and the listener. */
export interface Report {
  recorded(end: End, recorded: Recorded): void;
  /** The lease expired on the last attempt (JOB-22). */
  exhausted(job: Job): void;
}

/** Creates the report. Every log line names the job, its request, trace and tenant (JOB-18). */
export function createReport(logger: Logger | undefined, tell: Tell): Report {
  return {
    recorded(end, recorded) {
      const { job, durationMs, error, kind } = end;
      const fields = (): object => ({ ...fieldsOf(job), duration_ms: Math.round(durationMs * 1000) / 1000 });
      switch (recorded) {
        case "done":
          logger?.info(fields(), "job done");
          return tell({ type: "done", job, durationMs });
        case "pending":
          logger?.warn({ ...fields(), reason: errorText(error) }, "job failed, it will be tried again");
          return tell({ type: "failed", job, durationMs, error });
        case "dead":
          logger?.error({ ...fields(), reason: errorText(error) }, "job is dead");
          return tell({ type: "dead", job, durationMs, error });
        case "released":
          logger?.info(fields(), "job given back");
          return tell({ type: "released", job });
        case "lost":
          logger?.error({ ...fields(), ended: kind }, "the lease of a job ended before the job did");
          return tell({ type: "lease_lost", job, ended: kind });
      }
    },
    exhausted(job) {
      logger?.error({ ...fieldsOf(job), reason: EXHAUSTED }, "job is dead");
      tell({ type: "dead", job, durationMs: 0, error: new Error(EXHAUSTED) });
    },
  };
}
