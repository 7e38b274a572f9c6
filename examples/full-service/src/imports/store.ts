import { qualified, type Queryable, type Row } from "@svc/sql";
import { type Header, type Import, type ImportFailure, shownFailures, type StagedRow } from "./import.ts";

interface ImportRow extends Omit<Import, "created_at" | "finished_at">, Row {
  readonly created_at: Date;
  readonly finished_at: Date | null;
}

// As in `src/expense-store.ts`: whose rows they are is said by the transaction.

/** Begins an import: nobody sees it until it is queued. */
export async function beginImport(tx: Queryable, id: string, tenant: string, header: Header): Promise<void> {
  await tx.query("insert into importing_tenants (tenant) values ($1) on conflict do nothing", [tenant]);
  await tx.query("insert into imports (id, tenant, header) values ($1, $2, $3::jsonb)", [
    id,
    tenant,
    JSON.stringify(header),
  ]);
}

/** Keeps rows until the job comes to them. */
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

/** The file is complete. */
export async function importQueued(tx: Queryable, id: string, rows: number): Promise<void> {
  await tx.query("update imports set state = 'queued', rows = $2 where id = $1", [id, rows]);
}

/** Takes an import and what is left of it away. */
export async function dropImport(tx: Queryable, id: string): Promise<void> {
  await tx.query("delete from imports where id = $1", [id]);
}

/** The job of an import. */
export function importJobId(id: string): string {
  return `import-${id}`;
}

/** @param jobTable where its job is, while there is one */
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

/** Holds an import to the end of the transaction: two workers do not work on one file at once. Undefined when it is done. */
export async function holdImport(tx: Queryable, id: string): Promise<Header | undefined> {
  const { rows } = await tx.query<{ header: Header }>(
    "select header from imports where id = $1 and state in ('queued', 'running') for update",
    [id],
  );
  return rows[0]?.header;
}

/**
 * Takes the next rows out of those that are to be done, by their lines. The import must be held: rows are
 * deleted by their places. The statistics of this table are those of files that are gone, and led a join by
 * lines astray for seconds.
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

/** How far the import has come. */
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

/** The tenants that have imports; asked outside of any. */
export async function importingTenants(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant: string }>("select tenant from importing_tenants order by tenant");
  return rows.map(({ tenant }) => tenant);
}

/** Forgets what was finished long ago, and what was never sent to its end. */
export async function pruneImports(tx: Queryable, keepDays: number): Promise<number> {
  const { rowCount } = await tx.query(
    `
delete from imports where finished_at < now() - $1 * interval '1 day'
  or (state = 'receiving' and created_at < now() - interval '1 day')`,
    [keepDays],
  );
  return rowCount ?? 0;
}
