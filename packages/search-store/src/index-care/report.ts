import { safeErrorText } from "@svc/sql";
import type { ResolvedOptions } from "../options.ts";

/** What the care of the indexes did. Indexes are named by a hash: a tenant's own name is in no event. */
export interface StoreEvent {
  readonly type: "index-created" | "index-dropped" | "index-failed";
  readonly index: string;
  /** Chunks of the tenant, where they were counted. */
  readonly chunks?: number | undefined;
  /** How long it took. */
  readonly durationMs?: number | undefined;
  /** What went wrong, safe to show: an SQLSTATE or the code of a system call. */
  readonly error?: string | undefined;
}

const TOLD = {
  "index-created": "a tenant got an approximate index",
  "index-dropped": "a tenant lost its approximate index",
  "index-failed": "an approximate index could not be made",
} as const;

/** Tells the log, which is a calm one, and the listener. Neither changes what happens to the index. */
export function report({ onEvent, logger }: ResolvedOptions, event: StoreEvent): void {
  const { type, index, chunks, durationMs, error } = event;
  const fields = { index, chunks, duration_ms: durationMs, error };
  logger?.[type === "index-failed" ? "warn" : "info"](fields, TOLD[type]);
  const failed = (reason: unknown): void =>
    logger?.warn({ error: safeErrorText(reason) }, "the listener of a search store's events throws");
  try {
    const answer: unknown = onEvent?.(event);
    // An async function is taken for one that answers nothing.
    if (answer instanceof Promise) answer.catch(failed);
  } catch (reason) {
    failed(reason);
  }
}
