import {
  currentContext,
  currentTrace,
  isTenantId,
  type RequestContext,
  TENANT_ID_EXPECTED,
} from "@svc/context";
import { jsonBytes } from "@svc/sql";
import { refused } from "./errors.ts";
import { mintJobId } from "./job-id.ts";
import type { NewJob, TraceCarrier } from "./job.ts";
import type { ResolvedOptions } from "./options.ts";
import { CONTROL, shown, textFault } from "./text-fault.ts";
import { carrierOf, isCarrier } from "./trace.ts";

/** The statement parameters for a new job. */
export interface NewRow {
  readonly id: string;
  readonly task: string;
  readonly payload: string;
  readonly maxAttempts: number;
  readonly availableAt: string | null;
  readonly delaySeconds: number;
  readonly requestId: string | null;
  readonly tenantId: string | null;
  readonly trace: string | null;
}

const DEFAULT_MAX_ATTEMPTS = 3;
const MAX_ATTEMPTS = 1000;
const MAX_DELAY_SECONDS = 10 * 366 * 86_400;
const LAST_MOMENT = Date.UTC(10_000, 0, 1);
const KNOWN: ReadonlySet<string> = new Set<keyof NewJob>([
  "task",
  "payload",
  "id",
  "maxAttempts",
  "delaySeconds",
  "availableAt",
  "requestId",
  "tenantId",
  "trace",
]);
// JSON escapes that jsonb rejects: NUL and lone surrogates. If an even number of backslashes precedes the `u`, it is
// plain text.
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/**
 * Validates a job and adds its defaults: an id, and values from the current context (JOB-27).
 *
 * @param index position of the job in a list, for error messages
 * @throws JobError `ERR_SVC_JOB_ARGUMENT`, `ERR_SVC_JOB_SCHEMA`
 */
export function newRow(
  job: NewJob,
  { maxPayloadBytes, payloadCheck }: Pick<ResolvedOptions, "maxPayloadBytes" | "payloadCheck">,
  index?: number,
): NewRow {
  if (typeof job !== "object" || job === null) throw refused("a job must be an object with a task");
  for (const key of Object.keys(job)) {
    if (!KNOWN.has(key)) {
      const known = [...KNOWN].join(", ");
      throw refused(`unknown member ${JSON.stringify(key.slice(0, 80))} in a job; expected one of ${known}`);
    }
  }
  const { task, id, payload, maxAttempts = DEFAULT_MAX_ATTEMPTS, delaySeconds, availableAt } = job;
  checkText("task", task);
  if (id !== undefined) checkText("id", id);
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MAX_ATTEMPTS) {
    throw refused(
      `maxAttempts must be a whole number from 1 to ${MAX_ATTEMPTS}; it is ${shown(maxAttempts)}`,
    );
  }
  if (delaySeconds !== undefined && availableAt !== undefined) {
    throw refused("set delaySeconds or availableAt, not both");
  }
  const context = currentContext();
  const text = jsonOf(payload, maxPayloadBytes);
  payloadCheck?.beforeQueueing(task, text, index);
  return {
    id: id ?? mintJobId(),
    task,
    payload: text,
    maxAttempts,
    availableAt: momentOf(availableAt),
    delaySeconds: delayOf(delaySeconds),
    requestId: textOf("requestId", job.requestId, context?.requestId),
    tenantId: tenantOf(job.tenantId, context?.tenantId),
    trace: traceOf(job.trace, context),
  };
}

/** Sorts caller-defined ids, because two callers that insert the same ids in different orders could deadlock. */
export function inOneOrder(jobs: readonly NewJob[], rows: readonly NewRow[]): readonly NewRow[] {
  if (jobs.every(({ id }) => id === undefined)) return rows;
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

function checkText(name: string, value: unknown): asserts value is string {
  const fault = textFault(value);
  if (fault !== undefined) throw refused(`${name} ${fault}`);
}

function textOf(name: string, given: string | null | undefined, current: string | undefined): string | null {
  if (given === null) return null;
  if (given === undefined) return current === undefined || current === "" ? null : current;
  checkText(name, given);
  return given;
}

function tenantOf(given: string | null | undefined, current: string | undefined): string | null {
  if (given === null || (given === undefined && (current ?? "") === "")) return null;
  const tenant = given ?? current;
  if (isTenantId(tenant)) return tenant;
  if (typeof tenant !== "string") throw refused(`tenantId must be a string; it is ${shown(tenant)}`);
  throw refused(`tenantId must have ${TENANT_ID_EXPECTED}`);
}

function traceOf(given: TraceCarrier | null | undefined, context: RequestContext | undefined): string | null {
  if (given === null) return null;
  if (given === undefined) {
    const current = carrierOf(currentTrace(context));
    return current === undefined ? null : JSON.stringify(current);
  }
  if (!isCarrier(given)) throw refused("trace must have a valid traceparent of version 00");
  const { traceparent, tracestate } = given as { traceparent: string; tracestate?: string | null };
  if (typeof tracestate === "string" && (CONTROL.test(tracestate) || tracestate.length > 512)) {
    throw refused("trace.tracestate must have at most 512 characters and no control characters");
  }
  return JSON.stringify({ traceparent, tracestate: tracestate ?? undefined });
}

function jsonOf(payload: unknown, maxBytes: number): string {
  if (payload === undefined) return "{}";
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    throw refused("payload cannot be serialized as JSON", error);
  }
  if (typeof text !== "string")
    throw refused(`payload cannot be serialized as JSON; its type is ${typeof payload}`);
  const bytes = jsonBytes(text);
  if (bytes > maxBytes) {
    const how = bytes === Buffer.byteLength(text) ? "" : " with its numbers written without exponents";
    throw refused(
      `payload has ${bytes} bytes as JSON${how}; at most ${maxBytes} are allowed (maxPayloadBytes)`,
    );
  }
  if (text.includes("\\u") && UNKEPT.test(text)) {
    throw refused("payload contains NUL or an unpaired surrogate, which PostgreSQL cannot store");
  }
  return text;
}

function momentOf(value: Date | undefined): string | null {
  if (value === undefined) return null;
  if (!(value instanceof Date)) throw refused(`availableAt must be a Date; it is ${shown(value)}`);
  const ms = value.getTime();
  if (!(ms >= 0 && ms < LAST_MOMENT)) throw refused("availableAt must be a valid date from 1970 to 9999");
  return value.toISOString();
}

function delayOf(value: number | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && value >= 0 && value <= MAX_DELAY_SECONDS) return value;
  throw refused(`delaySeconds must be a number from 0 to ${MAX_DELAY_SECONDS}; it is ${shown(value)}`);
}
