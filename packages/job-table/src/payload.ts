import { InexactIntegerError, parseExactJson } from "@svc/sql";
import { JobError } from "./errors.ts";
import type { Job } from "./job.ts";
import type { PayloadCheck } from "./payload-check.ts";

/** Maps a claimed job whose payload could not be read to the reason. */
const faults = new WeakMap<Omit<Job, "payload">, JobError>();

/**
 * Adds the payload to a claimed job, unless the column's text has an integer that JavaScript would round (JOB-33).
 * Never throws, so that one row does not block the others.
 */
export function withPayload(job: Omit<Job, "payload">, text: unknown): Job {
  try {
    // A driver may have parsed the column already.
    return { ...job, payload: typeof text === "string" ? parseExactJson(text, "payload") : text };
  } catch (error) {
    const unread = { ...job, payload: undefined };
    faults.set(unread, faultOf(error));
    return unread;
  }
}

/** Returns why a claimed job has no payload; undefined if it has one. */
export function payloadFaultOf(job: Job): JobError | undefined {
  return faults.get(job);
}

/** A claimed job that cannot be returned. */
export interface UnreadJob {
  readonly job: Job;
  readonly error: unknown;
  /** Whether no attempt could complete the job. */
  readonly dead: boolean;
}

/** Checks the payloads of claimed jobs, and separates the jobs whose payload cannot be read or does not match its schema. */
export function readClaimed(
  claimed: readonly Job[],
  check: PayloadCheck | undefined,
): { readonly jobs: Job[]; readonly unread: readonly UnreadJob[] } {
  const jobs: Job[] = [];
  const unread: UnreadJob[] = [];
  for (const job of claimed) {
    const fault = payloadFaultOf(job);
    if (fault !== undefined) unread.push({ job, error: fault, dead: true });
    else if (check?.has(job.task) !== true) jobs.push(job);
    else {
      try {
        jobs.push({ ...job, payload: check.ofClaimed(job.task, job.payload) });
      } catch (error) {
        unread.push({ job, error, dead: false });
      }
    }
  }
  return { jobs, unread };
}

function faultOf(error: unknown): JobError {
  if (error instanceof InexactIntegerError) return new JobError("ERR_SVC_JOB_PAYLOAD", error.message);
  return new JobError("ERR_SVC_JOB_PAYLOAD", "payload cannot be read", { cause: error });
}
