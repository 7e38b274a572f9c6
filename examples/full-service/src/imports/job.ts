import type { z } from "zod";
import type { Database } from "@svc/database";
import type { JobHandler } from "@svc/job-table";
import type { BoundRollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import type { NewExpense } from "../expense.ts";
import { recordExpenses } from "../expense-store.ts";
import type { Announce } from "../recorded.ts";
import { newExpense } from "../validation.ts";
import { type Header, type ImportFailure, isImportId, type StagedRow } from "./import.ts";
import { holdImport, importDone, importProgress, takeRows } from "./store.ts";

/** Options of {@link importJob}. */
export interface ImportJobOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly announce: Announce;
  readonly totals: Pick<BoundRollup, "refreshLaterMany">;
  /** Rows of one transaction. Default: 200. */
  readonly stepRows?: number | undefined;
}

export const importTask = "expenses.import";

/**
 * Returns the job that processes a file in steps, as the tenant of the file. One transaction deletes the pending rows
 * of a step, records their expenses, publishes the events and queues the refresh of the totals, so each row becomes one
 * expense, even if the job is killed and started again.
 */
export function importJob({ db, prepared, announce, totals, stepRows = 200 }: ImportJobOptions): JobHandler {
  /** @returns whether more rows may be pending */
  async function step(tx: Queryable, id: string, tenant: string): Promise<boolean> {
    const header = await holdImport(tx, id);
    // The import is done or was deleted.
    if (header === undefined) return false;
    const rows = await takeRows(tx, id, stepRows);
    const { expenses, failures } = sorted(header, rows);
    const recorded = await recordExpenses(tx, tenant, expenses);
    await announce(tx, recorded);
    const moments = recorded.map(({ paid_at: at }) => ({ tenant, at }));
    await totals.refreshLaterMany(tx, moments);
    await importProgress(tx, id, recorded.length, failures);
    if (rows.length === stepRows) return true;
    await importDone(tx, id);
    return false;
  }

  return async (payload, { tenantId, signal }) => {
    const { import: id } = payload as { readonly import: string };
    if (!isImportId(id) || tenantId === undefined)
      throw new Error("the job must have a tenant and the id of an import");
    await prepared();
    do signal.throwIfAborted();
    while (await db.withTenant(tenantId, (tx) => step(tx, id, tenantId)));
  };
}

function sorted(
  header: Header,
  rows: readonly StagedRow[],
): { readonly expenses: readonly NewExpense[]; readonly failures: readonly ImportFailure[] } {
  const expenses: NewExpense[] = [];
  const failures: ImportFailure[] = [];
  for (const { line, fields } of rows) {
    if (fields.length !== header.length) {
      const msg = `must have ${header.length} fields; it has ${fields.length}`;
      failures.push({ line, errors: [{ loc: ["row"], msg }] });
      continue;
    }
    const values = header.map((name, index) => [name, fields[index]] as const);
    const { data: expense, error } = newExpense.safeParse(Object.fromEntries(values));
    if (expense === undefined) failures.push({ line, errors: error.issues.map(faultOfRow) });
    else expenses.push(expense);
  }
  return { expenses, failures };
}

function faultOfRow({ path, message }: z.core.$ZodIssue): ImportFailure["errors"][number] {
  return { loc: ["row", ...path.map(String)], msg: message };
}
