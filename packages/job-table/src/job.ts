import type { Queryable } from "@svc/sql";

/** The trace context of the code that queued a job, as it stands in the column `trace`. */
export interface TraceCarrier {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** What holds a claimed job (JOB-21): whoever claims it next has another one. A job is its own lease. */
export interface Lease {
  readonly id: string;
  readonly attempts: number;
  /** The end of the lease as UTC text with microseconds, which a `Date` would drop. */
  readonly lockedUntil: string;
}

/** A claimed job (JOB-5). */
export interface Job<P = unknown> extends Lease {
  readonly task: string;
  readonly payload: P;
  readonly maxAttempts: number;
  readonly requestId: string | undefined;
  readonly tenantId: string | undefined;
  readonly trace: TraceCarrier | undefined;
  /** Milliseconds between the moment from which it could be claimed and this claim. */
  readonly waitedMs: number;
}

/** A job to be queued. */
export interface NewJob {
  /** The handler's name, 1 to 255 characters. Required. */
  readonly task: string;
  /** Anything that JSON can say. Default: `{}`. */
  readonly payload?: unknown;
  /** 1 to 255 characters; a job whose id is in the table is not queued again (JOB-3). Default: a UUIDv7 in 32 hex characters. */
  readonly id?: string | undefined;
  /** How often it is begun before it is dead (JOB-15), 1 to 1,000. Default: 3. */
  readonly maxAttempts?: number | undefined;
  /** Seconds from now, by the clock of the server, before which it is not claimed. Default: 0. */
  readonly delaySeconds?: number | undefined;
  /** The moment before which it is not claimed, instead of `delaySeconds`. Default: now. */
  readonly availableAt?: Date | undefined;
  /** Default: that of the current context; null: none (JOB-27). */
  readonly requestId?: string | null | undefined;
  /** Default: that of the current context; null: none (JOB-27). */
  readonly tenantId?: string | null | undefined;
  /** Default: that of the current context; null: none (JOB-27). */
  readonly trace?: TraceCarrier | null | undefined;
}

/** What became of a job that was to be queued. */
export interface Enqueued {
  readonly id: string;
  /** False when a job of this id was there already. */
  readonly enqueued: boolean;
}

/** What became of a job that failed; `lost`: its lease had ended, and nothing was changed. */
export type FailOutcome = "pending" | "dead" | "lost";

/** A job that is not tried again. */
export interface DeadJob {
  readonly id: string;
  readonly task: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly requestId: string | undefined;
  readonly tenantId: string | undefined;
  readonly trace: TraceCarrier | undefined;
  readonly lastError: string | undefined;
  readonly createdAt: Date;
}

/** How many jobs there are of each state. */
export interface JobStats {
  readonly pending: number;
  readonly running: number;
  readonly dead: number;
}

/** Where a statement goes. */
export interface InTransaction {
  /** A transaction of the caller. Default: the table's `db`. */
  readonly tx?: Queryable | undefined;
}
