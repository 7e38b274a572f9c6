import type { ReadinessCheck } from "@svc/context";
import type { Queryable } from "@svc/sql";
import type { EventEnvelope } from "../envelope.ts";

/** An event and where it goes. */
export interface OutboxEntry {
  readonly topic: string;
  readonly event: EventEnvelope;
}

export interface Outbox {
  readonly name: string;
  /** Writes events down, in one statement. Answers how many were new: an id is written once. */
  add(entries: readonly OutboxEntry[], options?: { readonly tx?: Queryable | undefined }): Promise<number>;
  readiness(): ReadinessCheck;
}
