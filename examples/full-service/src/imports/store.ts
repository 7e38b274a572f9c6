import { qualified, type Queryable, type Row } from "@svc/sql";
import { type Header, type Import, type ImportFailure, shownFailures, type StagedRow } from "./import.ts";

interface ImportRow extends Omit<Import, "created_at" | "finished_at">, Row {
  readonly created_at: Date;
  readonly finished_at: Date | null;
}

// As in `src/expense-store.ts`, the transaction determines the tenant.

/** Begins an import, which stays hidden until it is queued. */
export async function beginImport(tx: Queryable, id: string, tenant: string, header: Header): Promise<void> {
  await tx.query("insert into importing_tenants (tenant) values ($1) on conflict do nothing", [tenant]);
  await tx.query("insert into imports (id, tenant, header) values ($1, $2, $3::jsonb)", [
    id,
    tenant,
    JSON.stringify(header),
  ]);
}

/** Stores rows for the job. */
export async function stageRows(
  tx: Queryable,
  id: string,
  tenant: string,
  rows: readonly StagedRow[],
): Promise<void> {
  await tx.query(
    `
insert into import_rows (import_id, tenant, line, fields)
select $1, $2, line, fields from jsonb_to_recordset($3::jsonb) as row (line int, fields jsonb)`,
    [id, tenant, JSON.stringify(rows)],
  );
}

/** Marks an import as queued, after all its rows have been stored. */
export async function importQueued(tx: Queryable, id: string, rows: number): Promise<void> {
  await tx.query("update imports set state = 'queued', rows = $2 where id = $1", [id, rows]);
}

/** Deletes an import and its pending rows. */
export async function dropImport(tx: Queryable, id: string): Promise<void> {
  await tx.query("delete from imports where id = $1", [id]);
}

/** Returns the id of the job of an import. */
export function importJobId(id: string): string {
  return `import-${id}`;
}

/** @param jobTable the job table, from which the state of the import's job is read */
export async function findImport(tx: Queryable, id: string, jobTable: string): Promise<Import | undefined> {
  const { rows } = await tx.query<ImportRow>(
    `
select id,
  case when exists(select from ${qualified(jobTable)} as job where job.id = $2 and job.status = 'dead')
    then 'stalled' else state end as state,
  rows, recorded, failed, failures, created_at, finished_at
from imports where id = $1 and state <> 'receiving'`,
    [id, importJobId(id)],
  );
  const [row] = rows;
  return (
    row && {
      ...row,
      created_at: row.created_at.toISOString(),
      finished_at: row.finished_at?.toISOString() ?? null,
    }
  );
}

/**
 * Locks an import until the end of the transaction, so that only one worker processes it. Returns undefined if it is
 * done or deleted.
 */
export async function holdImport(tx: Queryable, id: string): Promise<Header | undefined> {
  const { rows } = await tx.query<{ header: Header }>(
    "select header from imports where id = $1 and state in ('queued', 'running') for update",
    [id],
  );
  return rows[0]?.header;
}

/**
 * Deletes and returns the next pending rows, in the order of their lines. The import must be locked, because rows are
 * deleted by their physical position (`ctid`). A join by line numbers would take seconds, because the statistics of this
 * table describe files that were already deleted.
 */
export async function takeRows(tx: Queryable, id: string, limit: number): Promise<readonly StagedRow[]> {
  const { rows } = await tx.query<StagedRow & Row>(
    `
with taken as (
  delete from import_rows where ctid = any(array(
    select ctid from import_rows where import_id = $1 order by line limit $2
  )) returning line, fields
) select line, fields from taken order by line`,
    [id, limit],
  );
  return rows;
}

/** Records the progress of an import. */
export async function importProgress(
  tx: Queryable,
  id: string,
  recorded: number,
  failures: readonly ImportFailure[],
): Promise<void> {
  await tx.query(
    `
update imports set state = 'running', recorded = recorded + $2, failed = failed + $3,
  failures = (
    select coalesce(jsonb_agg(failure order by place), '[]')
    from jsonb_array_elements(failures || $4::jsonb) with ordinality as all_of_them (failure, place)
    where place <= ${shownFailures}
  )
where id = $1`,
    [id, recorded, failures.length, JSON.stringify(failures.slice(0, shownFailures))],
  );
}

export async function importDone(tx: Queryable, id: string): Promise<void> {
  await tx.query("update imports set state = 'done', finished_at = now() where id = $1", [id]);
}

/** Returns the tenants that have imports. Called outside of a tenant's transaction. */
export async function importingTenants(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant: string }>("select tenant from importing_tenants order by tenant");
  return rows.map(({ tenant }) => tenant);
}

/** Deletes old finished imports and incomplete uploads. */
export async function pruneImports(tx: Queryable, keepDays: number): Promise<number> {
  const { rowCount } = await tx.query(
    `
delete from imports where finished_at < now() - $1 * interval '1 day'
  or (state = 'receiving' and created_at < now() - interval '1 day')`,
    [keepDays],
  );
  return rowCount ?? 0;
}
