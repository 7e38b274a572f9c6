import { ConfigurationError, type Fault, type Kind } from "@svc/options";
import { isStandardSchema, type StandardSchema } from "./standard-schema.ts";
import type { AnyTasks } from "./task-types.ts";
import { textFault } from "./text-fault.ts";

const MAX_SHOWN = 80;

/** The schemas of tasks, by task. */
export type TaskSchemas = Readonly<Record<string, StandardSchema>>;

/**
 * The tasks of a job table, from {@link defineTasks}.
 *
 * `Queued` maps each task to the payload that is queued, `Received` to the payload that the handler receives. They differ
 * only for a schema that transforms.
 */
export interface Tasks<Queued extends AnyTasks, Received extends AnyTasks = Queued> {
  /** The schema of each task whose payloads are checked. */
  readonly schemas: TaskSchemas;
  /** Always undefined; exists only for the types. */
  readonly types?: { readonly queued: Members<Queued>; readonly received: Members<Received> } | undefined;
}

// With a mapped type, the compiler compares members instead of type parameters, so that a typed table is a `JobTable` too.
type Members<M> = { readonly [T in keyof M]: M[T] };

type Types<S> = S extends { readonly "~standard": { readonly types?: infer T } } ? NonNullable<T> : never;

/** The payloads that the schemas accept, by task. */
export type InputsOf<S extends TaskSchemas> = {
  readonly [T in keyof S]: Types<S[T]> extends { readonly input: infer I } ? I : unknown;
};

/** The payloads that the schemas return, by task. */
export type OutputsOf<S extends TaskSchemas> = {
  readonly [T in keyof S]: Types<S[T]> extends { readonly output: infer O } ? O : unknown;
};

/**
 * Defines the tasks of a job table by their schemas, for the option `tasks` of `createJobTable()`. The types of the
 * payloads come from the schemas.
 *
 * @param schemas a synchronous Standard Schema for each task. It checks a payload when a job is queued, and again when the
 *   job is claimed
 * @throws ConfigurationError for a value that is not a Standard Schema, naming the task, and for a name that no job can have
 */
export function defineTasks<const S extends TaskSchemas>(schemas: S): Tasks<InputsOf<S>, OutputsOf<S>>;
/**
 * Defines the types of a job table's tasks: `defineTasks<{ "mail.send": { to: string } }>()`.
 *
 * @param schemas a Standard Schema for each task whose payloads are also checked at run time. Default: none; without a schema
 *   nothing is checked
 * @throws ConfigurationError for a value that is not a Standard Schema, naming the task, and for a name that no job can have
 */
export function defineTasks<M extends AnyTasks>(schemas?: {
  readonly [T in keyof M]?: StandardSchema<M[T]> | undefined;
}): Tasks<M>;
export function defineTasks(schemas: object = {}): Tasks<object> {
  const faults: Fault[] = [];
  const given = isObject(schemas) ? Object.entries(schemas).filter(([, schema]) => schema !== undefined) : [];
  if (!isObject(schemas)) faults.push({ key: "schemas", message: "must be an object of schemas by task" });
  for (const [task, schema] of given) {
    const key = JSON.stringify(task.slice(0, MAX_SHOWN));
    const fault = textFault(task);
    if (fault !== undefined) faults.push({ key: `the task ${key}`, message: fault });
    if (isStandardSchema(schema)) continue;
    const message = "must be a Standard Schema, such as one of zod, valibot or arktype";
    faults.push({ key: fault === undefined ? task : `the task ${key}`, message });
  }
  if (faults.length > 0) throw new ConfigurationError("defineTasks()", faults);
  return Object.freeze({ schemas: Object.freeze(Object.fromEntries(given) as TaskSchemas) });
}

/** The option `tasks` of a job table. */
export const tasksKind: Kind<Tasks<AnyTasks>> = {
  expects: "the result of defineTasks()",
  accepts: (value): value is Tasks<AnyTasks> =>
    isObject(value) && isObject(value.schemas) && Object.values(value.schemas).every(isStandardSchema),
};

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !(Symbol.iterator in value);
}
