import type { Logger } from "@svc/context";
import { createEmitter } from "@svc/resilience";
import { safeErrorText } from "@svc/sql";

/** An event of index maintenance. It contains the index's name with a hash, and never the tenant. */
export interface StoreEvent {
  readonly type: "index-created" | "index-dropped" | "index-failed";
  readonly index: string;
  /** Chunks of the tenant, if they were counted. */
  readonly chunks?: number | undefined;
  /** Duration in milliseconds. */
  readonly durationMs?: number | undefined;
  /** Cause, safe to show: an SQLSTATE or the error code of a system call. */
  readonly error?: string | undefined;
}

/** The recipients of events. */
export interface EventRecipients {
  readonly onEvent: ((event: StoreEvent) => void) | undefined;
  readonly logger: Logger | undefined;
}

const MESSAGES = {
  "index-created": "created the approximate index of a tenant",
  "index-dropped": "dropped the approximate index of a tenant",
  "index-failed": "an approximate index could not be built",
} as const;

/** Passes an event to the safe logger and to the listener; their errors do not affect the index. */
export function report({ onEvent, logger }: EventRecipients, event: StoreEvent): void {
  const { type, index, chunks, durationMs, error } = event;
  const fields = { index, chunks, duration_ms: durationMs, error };
  logger?.[type === "index-failed" ? "warn" : "info"](fields, MESSAGES[type]);
  createEmitter(onEvent, (_, reason) =>
    logger?.warn({ error: safeErrorText(reason) }, "a search store event listener threw an error"),
  ).emit(event);
}
