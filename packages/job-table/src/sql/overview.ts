import type { JobStats } from "../job.ts";
import { statsSql } from "./operator.ts";

/** What the queue page shows, read at one moment. */
export interface Overview {
  readonly stats: JobStats;
  /** The job that could have been claimed for the longest time; null: none waits. */
  readonly oldest: { readonly task: string; readonly seconds: number } | null;
  /** Those whose lease ends first. */
  readonly running: readonly RunningRow[];
  /** Those that were queued last. */
  readonly dead: readonly DeadLetterRow[];
}

/** A job of the page; a worker in another language may have written anything into its texts. */
export interface ListedRow {
  readonly id: string;
  readonly task: string;
  readonly tenant: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
}

export interface RunningRow extends ListedRow {
  /** Milliseconds since the Unix epoch; null: none, so that nobody claims it again. */
  readonly ends_ms: number | null;
  readonly ended: boolean;
}

export interface DeadLetterRow extends ListedRow {
  /** Milliseconds since the Unix epoch. */
  readonly created_ms: number;
  readonly error: string | null;
  /** Whether there is more of the error. */
  readonly cut: boolean;
}

/** How many rows each of the lists has at most. */
export const LISTED = 50;

const NOW = "statement_timestamp()";
const ERROR_LENGTH = 300;
const NAME_LENGTH = 200;
const listed = `id, left(task, ${NAME_LENGTH}) as task, left(tenant_id, ${NAME_LENGTH}) as tenant, attempts, max_attempts`;

/**
 * Everything in one statement, hence of one moment; payloads stay where they are. Answers one row. The dead ones, which have
 * no index, are cut to the newest before their errors are looked at.
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
  (select coalesce(json_agg(buried order by buried.created_ms desc, buried.id), '[]') from (
    select ${listed}, date_part('epoch', created_at) * 1000 as created_ms, left(last_error, ${ERROR_LENGTH}) as error,
      coalesce(length(last_error) > ${ERROR_LENGTH}, false) as cut
    from (select * from ${table} where status = 'dead' order by created_at desc, id limit ${LISTED}) as newest
  ) as buried) as dead`;
}
