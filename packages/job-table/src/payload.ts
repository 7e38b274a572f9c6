import { InexactIntegerError, parseExactJson } from "@svc/sql";
import { JobError } from "./errors.ts";
import type { Job } from "./job.ts";

/** Why the payload of a claimed job was not read; such a job has none. */
const faults = new WeakMap<Omit<Job, "payload">, JobError>();

/**
 * Gives a claimed job its payload, from the text of the column. One that a JavaScript number would change is not read: rows
 * of other languages may have integers beyond 2^53 (JOB-33). Never throws, so that one row does not keep others from being
 * claimed.
 */
export function withPayload(job: Omit<Job, "payload">, text: unknown): Job {
  try {
    // A database of another driver may have parsed it already.
    return { ...job, payload: typeof text === "string" ? parseExactJson(text, "payload") : text };
  } catch (error) {
    const unread = { ...job, payload: undefined };
    faults.set(unread, faultOf(error));
    return unread;
  }
}

/** Why a claimed job has no payload; undefined for a job that has one. */
export function payloadFaultOf(job: Job): JobError | undefined {
  return faults.get(job);
}

function faultOf(error: unknown): JobError {
  if (error instanceof InexactIntegerError) return new JobError("ERR_SVC_JOB_PAYLOAD", error.message);
  return new JobError("ERR_SVC_JOB_PAYLOAD", "payload cannot be read", { cause: error });
}
