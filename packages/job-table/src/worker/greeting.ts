import { createHash } from "node:crypto";

const PREFIX = "handlers ";
const MAX_LENGTH = 1000;

/**
 * What a worker tells those that listen on its table when it comes: the tasks that it has handlers for. A worker claims every
 * row (JOB-20), so one with other handlers makes their jobs dead.
 */
export function greetingOf(tasks: Iterable<string>): string {
  const names = JSON.stringify([...tasks].toSorted());
  return PREFIX + (names.length <= MAX_LENGTH ? names : createHash("sha256").update(names).digest("hex"));
}

/** The greeting in a notification; undefined when it is another one, which tells that a job is there. */
export function heardGreeting(message: unknown): string | undefined {
  const { payload } = (message ?? {}) as { readonly payload?: unknown };
  return typeof payload === "string" && payload.startsWith(PREFIX) ? payload : undefined;
}

/** For the log; whoever may notify may have written anything. */
export function tasksIn(greeting: string): string {
  return greeting.slice(PREFIX.length, PREFIX.length + MAX_LENGTH);
}
