import { type PlannedStatement, SESSION_COLUMN } from "@svc/sql";
import { createHash } from "node:crypto";
import type { NewRow } from "../new-job.ts";
import { returned } from "./claimed-row.ts";
import { orphanUpdate } from "./release.ts";

// List all thirteen columns, because a manually created table may have other defaults.
const COLUMNS =
  "id, task, payload, attempts, max_attempts, available_at, locked_until, request_id, tenant_id, status, " +
  "last_error, created_at, trace";

export interface Query {
  readonly text: string;
  readonly values: unknown[];
}

const NOTIFY = ", case when count(*) > 0 then pg_notify($11, '') end";

/**
 * Creates the statements that queue one job. Each returns a row if the job was queued, and none if its id already
 * existed.
 */
export function enqueueOneWith(
  table: string,
): (row: NewRow, channel: string | undefined) => PlannedStatement {
  const insert = `insert into ${table} (${COLUMNS})
  values (${rowSql(1)})
  on conflict (id) do nothing returning id, ${SESSION_COLUMN}`;
  const quiet = named(insert);
  // `pg_notify()` is evaluated only for an inserted row.
  const notifying = named(`${insert}, pg_notify($10, '')`);
  return (row, channel) => {
    const values = valuesOf(row);
    if (channel === undefined) return { ...quiet, values };
    return { ...notifying, values: [...values, channel] };
  };
}

/** Names a statement after its text, because a pool's connections may serve several tables. */
function named(text: string): { readonly name: string; readonly text: string } {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return { name: `svc_job_enqueue_${hash}`, text };
}

/** Returns an insert that also claims the job for `leaseSeconds`, and returns the same row as a claim. */
export function enqueueClaimed(table: string, row: NewRow, leaseSeconds: number): Query {
  const text = `insert into ${table} as job (${COLUMNS})
  values ($1, $2, $3::jsonb, 1, $4::int, statement_timestamp(), statement_timestamp() + $8::float8 * interval '1 second',
    $5, $6, 'running', null, now(), $7::jsonb)
  on conflict (id) do nothing returning ${returned(false)}, 0 as took_ms`;
  const { id, task, payload, maxAttempts, requestId, tenantId, trace } = row;
  return { text, values: [id, task, payload, maxAttempts, requestId, tenantId, trace, leaseSeconds] };
}

/**
 * Returns the statement to send after {@link enqueueClaimed} failed without a known outcome. It queues the job, or
 * releases it if the failed statement claimed it.
 */
export function enqueueAgain(
  table: string,
  row: NewRow,
  leaseSeconds: number,
  channel: string | undefined,
): Query {
  const text = `insert into ${table} as job (${COLUMNS})
  values (${rowSql(1)})
  on conflict (id) do update ${orphanUpdate("$10")}
  returning job.id${channel === undefined ? "" : ", pg_notify($11, '')"}`;
  const values = [...valuesOf(row), leaseSeconds];
  if (channel !== undefined) values.push(channel);
  return { text, values };
}

/** Returns an insert that queues one job if the relation `from` has a row. Its nine parameters start at `$first`. */
export function enqueueFrom(table: string, row: NewRow, from: string, first: number): Query {
  return {
    text: `insert into ${table} (${COLUMNS})
  select ${rowSql(first)} from ${from}
  on conflict (id) do nothing returning id`,
    values: valuesOf(row),
  };
}

// A `select` does not infer parameter types from the columns, so specify them.
function rowSql(first: number): string {
  const $ = (offset: number): string => `$${first + offset}`;
  return `${$(0)}::text, ${$(1)}::text, ${$(2)}::jsonb, 0, ${$(3)}::int,
    coalesce(${$(4)}::timestamptz, statement_timestamp() + ${$(5)}::float8 * interval '1 second'),
    null, ${$(6)}::text, ${$(7)}::text, 'pending', null, now(), ${$(8)}::jsonb`;
}

function valuesOf(row: NewRow): unknown[] {
  const { id, task, payload, maxAttempts, availableAt, delaySeconds, requestId, tenantId, trace } = row;
  return [id, task, payload, maxAttempts, availableAt, delaySeconds, requestId, tenantId, trace];
}

/** Returns an insert for many jobs, which returns the number of queued jobs, and their ids unless all were queued. */
export function enqueueRows(table: string, rows: readonly NewRow[], channel: string | undefined): Query {
  const text = `with made as (
  insert into ${table} (${COLUMNS})
  select id, task, payload::jsonb, 0, max_attempts,
    coalesce(available_at, statement_timestamp() + delay * interval '1 second'),
    null, request_id, tenant_id, 'pending', null, now(), trace::jsonb
  from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::float8[], $7::text[], $8::text[],
    $9::text[]) as new (id, task, payload, max_attempts, available_at, delay, request_id, tenant_id, trace)
  on conflict (id) do nothing returning id
) select count(*)::int as made, case when count(*) < $10::int then array_agg(id) end as ids
  ${channel === undefined ? "" : NOTIFY} from made`;
  const column = <K extends keyof NewRow>(key: K): NewRow[K][] => rows.map((row) => row[key]);
  const values: unknown[] = [
    arrayText(column("id")),
    arrayText(column("task")),
    arrayText(column("payload")),
    arrayText(column("maxAttempts")),
    arrayText(column("availableAt")),
    arrayText(column("delaySeconds")),
    column("requestId"),
    column("tenantId"),
    arrayText(column("trace")),
    rows.length,
  ];
  if (channel !== undefined) values.push(channel);
  return { text, values };
}

/**
 * Formats a list as an array literal, faster than the driver does. In checked strings and JSON, only quote and
 * backslash need escaping, which JSON and array literals do the same way.
 */
function arrayText(list: readonly (string | number | null)[]): string {
  return `{${JSON.stringify(list).slice(1, -1)}}`;
}
