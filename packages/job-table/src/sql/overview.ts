import type { JobStats } from "../job.ts";
import { statsSql } from "./operator.ts";

/** The data of the queue page, read in one statement. */
export interface Overview {
  readonly stats: JobStats;
  /** The job that has been due for the longest time; null if no job is due. */
  readonly oldest: { readonly task: string; readonly seconds: number } | null;
  /** The jobs whose leases expire first. */
  readonly running: readonly RunningRow[];
  /** The most recently queued dead jobs. */
  readonly dead: readonly DeadLetterRow[];
}

/** A job on the page. Writers in other languages may store any string. */
export interface ListedRow {
  readonly id: string;
  readonly task: string;
  readonly tenant: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
}

export interface RunningRow extends ListedRow {
  /**
   * When the lease expires, in milliseconds since the Unix epoch. Null: the lease never expires, so no worker claims
   * the job again.
   */
  readonly ends_ms: number | null;
  readonly ended: boolean;
}

export interface DeadLetterRow extends ListedRow {
  /** When the job was queued, in milliseconds since the Unix epoch. */
  readonly created_ms: number;
  readonly error: string | null;
  /** Whether the error was truncated. */
  readonly cut: boolean;
}

/** Maximum length of each list. */
export const LISTED = 50;

const NOW = "statement_timestamp()";
const ERROR_LENGTH = 300;
const NAME_LENGTH = 200;
const listed = `id, left(task, ${NAME_LENGTH}) as task, left(tenant_id, ${NAME_LENGTH}) as tenant, attempts, max_attempts`;

/**
 * Returns a statement that reads the page's data in one row. Dead jobs have no index, so it selects the newest before
 * it reads their errors.
 */
export function overviewSql(table: string): string {
  return `select
  (select to_json(counted) from (${statsSql(table)}) as counted) as stats,
  (select to_json(first) from (
    select left(task, ${NAME_LENGTH}) as task, date_part('epoch', ${NOW}) - date_part('epoch', available_at) as seconds
    from ${table}
    where status = 'pending' and available_at <= ${NOW} order by available_at limit 1
  ) as first) as oldest,
  (select coalesce(json_agg(held order by held.ends_ms, held.id), '[]') from (
    select ${listed}, date_part('epoch', locked_until) * 1000 as ends_ms, coalesce(locked_until < ${NOW}, false) as ended
    from ${table} where status = 'running' order by locked_until, id limit ${LISTED}
  ) as held) as running,
  (select coalesce(json_agg(dead_job order by dead_job.created_ms desc, dead_job.id), '[]') from (
    select ${listed}, date_part('epoch', created_at) * 1000 as created_ms, left(last_error, ${ERROR_LENGTH}) as error,
      coalesce(length(last_error) > ${ERROR_LENGTH}, false) as cut
    from (select * from ${table} where status = 'dead' order by created_at desc, id limit ${LISTED}) as newest
  ) as dead_job) as dead`;
}
