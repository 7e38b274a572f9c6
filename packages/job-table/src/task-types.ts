import type { NewJob } from "./job.ts";

/** The task map of a table without `tasks`: any task with any payload. */
// oxlint-disable-next-line typescript/no-explicit-any -- an interface is assignable to a record of any, but of no other type
export type AnyTasks = Readonly<Record<string, any>>;

/** The members `task` and `payload` of a job; `payload` may be omitted if `{}`, its default, is valid. */
export type TaskAndPayload<T, P> = { readonly task: T } & ({} extends P
  ? { readonly payload?: P | undefined }
  : { readonly payload: P });

/** A job of a task map `{ "mail.send": { to: string } }` to queue: its task determines the type of its payload. */
export type TaskJob<M extends AnyTasks = AnyTasks> = {
  readonly [T in keyof M & string]: Omit<NewJob, "task" | "payload"> & TaskAndPayload<T, M[T]>;
}[keyof M & string];

/** Excludes a parameter from the inference of `M`, like `NoInfer`, which requires TypeScript 5.4. */
export type NotInferred<M> = [M][M extends unknown ? 0 : never];
