import { createHash } from "node:crypto";

const PREFIX = "handlers ";
const MAX_LENGTH = 1000;

/**
 * Returns the message with which a worker announces its tasks to the other listeners of its table. A worker claims
 * every row (JOB-20), so one with different handlers marks their jobs as dead.
 */
export function greetingOf(tasks: Iterable<string>): string {
  const names = JSON.stringify([...tasks].toSorted());
  return PREFIX + (names.length <= MAX_LENGTH ? names : createHash("sha256").update(names).digest("hex"));
}

/** Returns the announcement in a notification; undefined for a notification of a new job. */
export function heardGreeting(message: unknown): string | undefined {
  const { payload } = (message ?? {}) as { readonly payload?: unknown };
  return typeof payload === "string" && payload.startsWith(PREFIX) ? payload : undefined;
}

/** Formats an announcement for the log; any client that may notify can have written it. */
export function tasksIn(greeting: string): string {
  return greeting.slice(PREFIX.length, PREFIX.length + MAX_LENGTH);
}
