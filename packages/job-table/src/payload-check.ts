import { JobError } from "./errors.ts";
import type { SchemaIssue, StandardSchema } from "./standard-schema.ts";
import type { TaskSchemas } from "./tasks.ts";

/** Checks the payloads of tasks that have a schema. */
export interface PayloadCheck {
  has(task: string): boolean;
  /**
   * Checks a payload as it is stored, before its job is queued.
   *
   * @param text the payload as JSON
   * @param index position of the job in a list, for the error
   * @throws JobError `ERR_SVC_JOB_SCHEMA`
   */
  beforeQueueing(task: string, text: string, index?: number): void;
  /**
   * Checks the payload of a claimed job, and returns what the schema returns.
   *
   * @throws JobError `ERR_SVC_JOB_SCHEMA`, without a cause, because the text of a cause is stored too
   */
  ofClaimed(task: string, payload: unknown): unknown;
}

const MAX_PATHS = 10;
const MAX_PARTS = 20;
const MAX_KEY = 100;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** Creates the check; undefined without a schema, so that untyped tables have no overhead. */
export function createPayloadCheck(schemas: TaskSchemas | undefined): PayloadCheck | undefined {
  const byTask = new Map(Object.entries(schemas ?? {}));
  if (byTask.size === 0) return undefined;

  /** @param isCauseKept whether the error of a schema that throws becomes the cause */
  function checked(task: string, payload: unknown, place: string, isCauseKept: boolean): unknown {
    const schema = byTask.get(task);
    if (schema === undefined) return payload;
    const { value, issues } = resultOf(schema, task, payload, isCauseKept);
    if (issues === undefined) return value;
    throw mismatch(`the payload does not match the schema of the task ${task} at ${pathsOf(issues, place)}`);
  }

  return {
    has: (task) => byTask.has(task),
    beforeQueueing(task, text, index) {
      if (!byTask.has(task)) return;
      const place = index === undefined ? "payload" : `jobs[${index}].payload`;
      // Check what the worker will read: a Date, for instance, becomes a string.
      checked(task, JSON.parse(text), place, true);
    },
    ofClaimed: (task, payload) => checked(task, payload, "payload", false),
  };
}

/** The result of a schema. It may have any shape, because a schema in plain JavaScript is not type-checked. */
interface Outcome {
  readonly value: unknown;
  /** Undefined if the payload matches. */
  readonly issues: unknown;
}

function resultOf(schema: StandardSchema, task: string, payload: unknown, isCauseKept: boolean): Outcome {
  let result: unknown;
  try {
    result = schema["~standard"].validate(payload);
    if (typeof result === "object" && result !== null && !("then" in result)) {
      const { value, issues } = result as { readonly value?: unknown; readonly issues?: unknown };
      return { value, issues: issues ?? undefined };
    }
  } catch (error) {
    // The message of the error may repeat a value of the payload.
    throw mismatch(`the schema of the task ${task} threw ${kindOf(error)}`, isCauseKept ? error : undefined);
  }
  if (typeof result !== "object" || result === null)
    throw mismatch(`the schema of the task ${task} returned no result`);
  // The rejection of a promise that is not awaited would end the process.
  Promise.resolve(result).catch(() => undefined);
  throw mismatch(`the schema of the task ${task} is asynchronous; use a synchronous one`);
}

function kindOf(error: unknown): string {
  try {
    if (error instanceof Error && typeof error.name === "string") return error.name.slice(0, MAX_KEY);
  } catch {
    // The name cannot be read.
  }
  return `a value of the type ${typeof error}`;
}

/** Returns the paths of the issues, without their messages, which may repeat a value of the payload. */
function pathsOf(issues: unknown, place: string): string {
  let paths: readonly string[] = [];
  try {
    paths = [...new Set((issues as readonly SchemaIssue[]).map((issue) => pathOf(issue?.path ?? [], place)))];
  } catch {
    // The issues are not those of a Standard Schema.
  }
  if (paths.length === 0) return place;
  const rest = paths.length - MAX_PATHS;
  return paths.slice(0, MAX_PATHS).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

function pathOf(path: NonNullable<SchemaIssue["path"]>, place: string): string {
  let text = place;
  // A path of ArkType is a subclass of Array.
  const parts = Array.from(path);
  for (const part of parts.slice(0, MAX_PARTS)) {
    const key = typeof part === "object" ? part.key : part;
    if (typeof key === "number") text += `[${key}]`;
    else if (NAME.test(String(key))) text += `.${String(key).slice(0, MAX_KEY)}`;
    else text += `[${JSON.stringify(String(key).slice(0, MAX_KEY))}]`;
  }
  return parts.length > MAX_PARTS ? `${text}...` : text;
}

function mismatch(message: string, cause?: unknown): JobError {
  return new JobError("ERR_SVC_JOB_SCHEMA", message, cause === undefined ? undefined : { cause });
}
