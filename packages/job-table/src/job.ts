import type { Queryable } from "@svc/sql";

/** The trace context in which a job was queued, as stored in the column `trace`. */
export interface TraceCarrier {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/**
 * Identifies one claim of a job (JOB-21). A later claim has a different lease. A {@link Job} can be passed as its own
 * lease.
 */
export interface Lease {
  readonly id: string;
  readonly attempts: number;
  /** Expiry time of the lease in UTC, with microseconds, which a `Date` would drop. */
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
  /** Milliseconds between the due time of the job and this claim. */
  readonly waitedMs: number;
}

/** A job to queue. */
export interface NewJob {
  /** The handler's name, 1 to 255 characters. Required. */
  readonly task: string;
  /** Any value that JSON can represent. Default: `{}`. */
  readonly payload?: unknown;
  /**
   * 1 to 255 characters. A job whose id is already in the table is not queued again (JOB-3). Default: a UUIDv7 as 32
   * hex characters.
   */
  readonly id?: string | undefined;
  /** Attempts before the job is dead (JOB-15), 1 to 1,000. Default: 3. */
  readonly maxAttempts?: number | undefined;
  /** Seconds until the job is due, by the server's clock. Default: 0. */
  readonly delaySeconds?: number | undefined;
  /** When the job is due; set either this or `delaySeconds`. Default: now. */
  readonly availableAt?: Date | undefined;
  /** Default: the request id in the current context. Null means none (JOB-27). */
  readonly requestId?: string | null | undefined;
  /** Default: the tenant in the current context. Null means none (JOB-27). */
  readonly tenantId?: string | null | undefined;
  /** Default: the current trace (`currentTrace()` of `@svc/context`). Null means none (JOB-27). */
  readonly trace?: TraceCarrier | null | undefined;
}

/** The result of queueing a job. */
export interface Enqueued {
  readonly id: string;
  /** False when a job with this id already existed. */
  readonly enqueued: boolean;
}

/** The state of a job after `fail()`. `lost`: it was claimed again or recovered after its lease expired, and nothing changed. */
export type FailOutcome = "pending" | "dead" | "lost";

/** A job that will not be retried. */
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

/** The number of jobs in each state. */
export interface JobStats {
  readonly pending: number;
  readonly running: number;
  readonly dead: number;
}

/** Options of a call that can run in the caller's transaction. */
export interface InTransaction {
  /** The caller's transaction. Default: the table's `db`. */
  readonly tx?: Queryable | undefined;
}
