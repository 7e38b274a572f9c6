import type { DeadJob } from "../job.ts";
import { storedCarrier } from "../trace.ts";
import type { JobRow } from "./claimed-row.ts";

// The latest time that a JavaScript Date can represent.
const FAR_MS = 8.64e15;

export interface DeadRow extends JobRow {
  readonly task: string;
  readonly last_error: string | null;
  readonly created_ms: number;
}

export function deadSql(table: string): string {
  return `select id, task, payload, attempts::int, max_attempts::int, request_id, tenant_id, trace, last_error,
  date_part('epoch', coalesce(created_at, available_at)) * 1000 as created_ms
from ${table} where status = 'dead' order by created_at desc, id limit $1::int`;
}

/**
 * Returns the statement that makes dead jobs pending. `$1`: their ids, or null for all. `$2`: the channel on which to
 * notify workers.
 */
export function retrySql(table: string, notifies: boolean): string {
  return `update ${table} set status = 'pending', attempts = 0, locked_until = null, available_at = statement_timestamp()
where status = 'dead' and ($1::text[] is null or id = any($1::text[])) returning id${notifies ? ", pg_notify($2, '')" : ""}`;
}

export function statsSql(table: string): string {
  return `select count(*) filter (where status = 'pending')::float8 as pending,
  count(*) filter (where status = 'running')::float8 as running,
  count(*) filter (where status = 'dead')::float8 as dead from ${table}`;
}

export function countDeadSql(table: string): string {
  return `select count(*)::float8 as dead from ${table} where status = 'dead'`;
}

export function readySql(table: string): string {
  return `select exists(select from ${table} where status = 'pending' and available_at <= statement_timestamp())
  or exists(select from ${table} where status = 'running' and locked_until < statement_timestamp()) as ready`;
}

/** Returns a query that checks the table and its columns without reading a row. */
export function reachSql(table: string): string {
  return `select id, status, available_at, locked_until from ${table} limit 0`;
}

export function deadJobOf(row: DeadRow): DeadJob {
  return {
    id: row.id,
    task: row.task,
    payload: row.payload,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    requestId: row.request_id ?? undefined,
    tenantId: row.tenant_id ?? undefined,
    trace: storedCarrier(row.trace),
    lastError: row.last_error ?? undefined,
    createdAt: new Date(Math.min(Math.max(row.created_ms, -FAR_MS), FAR_MS)),
  };
}
