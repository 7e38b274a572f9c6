import { currentContext } from "@svc/context";
import type { Database } from "@svc/database";
import type { JobHandler, JobTable } from "@svc/job-table";
import type { Rollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import type { Expense } from "../expense.ts";
import { monthAfter } from "./month.ts";
import { expenseTenants } from "./totals.ts";

/** Has totals computed anew by a job, told in the transaction that wrote the expenses. */
export type RefreshLater = (tx: Queryable, tenant: string, expenses: readonly Expense[]) => Promise<void>;

export function refreshLater(totals: Rollup, jobs: JobTable): RefreshLater {
  return async (tx, tenant, expenses) => {
    for (const at of momentsOf(expenses)) await totals.enqueueRefresh(jobs, { tenant, at }, { tx });
  };
}

/**
 * Moments in all months that the expenses are in: the first and the last one of every month of UTC. Where clocks differ from
 * UTC such a month lies in two, and then one of them is in each.
 */
function momentsOf(expenses: readonly Expense[]): ReadonlySet<string> {
  const ends = new Map<string, { first: string; last: string }>();
  for (const { paid_at: at } of expenses) {
    const month = at.slice(0, 7);
    const known = ends.get(month);
    if (known === undefined) ends.set(month, { first: at, last: at });
    else if (at < known.first) known.first = at;
    else if (at > known.last) known.last = at;
  }
  return new Set([...ends.values()].flatMap(({ first, last }) => [first, last]).toSorted());
}

export const verifyTask = "reports.verify";

/** What {@link verifyJob} stands on. */
export interface VerifyJobOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly totals: Rollup;
}

const yearsBack = 5;

/**
 * Compares the totals of the last five years with the expenses, tenant after tenant, and computes those anew that are not what
 * they should be: somebody has changed expenses behind the service's back, or one of an earlier release has.
 */
export function verifyJob({ db, prepared, totals }: VerifyJobOptions): JobHandler {
  return async (_payload, { signal }) => {
    await prepared();
    const now = new Date().toISOString().slice(0, 7);
    const range = { from: `${monthAfter(now, -12 * yearsBack)}-01`, to: `${monthAfter(now, 12)}-01` };
    let repaired = 0;
    for (const tenant of await expenseTenants(db)) {
      signal.throwIfAborted();
      const { drift } = await totals.verify(db, { tenant, ...range });
      for (const month of new Set(drift.map(({ month }) => month))) {
        await totals.rebuild(db, { tenant, from: month, to: month });
        repaired += 1;
      }
    }
    const log = currentContext()?.log;
    if (repaired === 0) log?.info({ repaired }, "the totals are what they should be");
    else log?.warn({ repaired }, "totals were not what they should be, and were computed anew");
  };
}
