import { currentContext } from "@svc/context";
import type { Database } from "@svc/database";
import type { JobHandler } from "@svc/job-table";
import type { BoundRollup } from "@svc/rollups";
import { monthAfter } from "./month.ts";
import { expenseTenants } from "./totals.ts";

export const verifyTask = "reports.verify";

/** Options of {@link verifyJob}. */
export interface VerifyJobOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly totals: BoundRollup;
}

const yearsBack = 5;
const yearsAhead = 1;

/**
 * Returns the job that compares the totals of the last five years, and of the next one, with the expenses, tenant by
 * tenant, and recomputes those that differ, for example because expenses were changed by hand or by an earlier release.
 * If the expenses of one tenant cannot be read before the timeout, the job continues with the other tenants.
 */
export function verifyJob({ db, prepared, totals }: VerifyJobOptions): JobHandler {
  return async (_payload, { signal }) => {
    await prepared();
    const log = currentContext()?.log;
    const tenants = await expenseTenants(db);
    let [repaired, failed, reason] = [0, 0, undefined as unknown];
    for (const tenant of tenants) {
      signal.throwIfAborted();
      try {
        repaired += await madeRight(totals, tenant);
      } catch (error) {
        failed += 1;
        reason ??= error;
      }
    }
    if (repaired > 0) log?.warn({ repaired }, "totals differed from their expenses and were recomputed");
    if (failed > 0) {
      const message = `the totals of ${failed} of ${tenants.length} tenants could not be compared with their expenses`;
      throw new Error(message, { cause: reason });
    }
    if (repaired === 0) log?.info({ repaired }, "the totals match their expenses");
  };
}

/**
 * Repairs one year at a time, because one statement for all years would exceed its timeout. @returns the number of
 * wrong months
 */
async function madeRight(totals: BoundRollup, tenant: string): Promise<number> {
  const now = new Date().toISOString().slice(0, 7);
  let repaired = 0;
  for (let year = -yearsBack; year <= yearsAhead; year++) {
    const last = monthAfter(now, 12 * year);
    const { drift } = await totals.verify({
      tenant,
      from: `${monthAfter(last, -11)}-01`,
      to: `${last}-01`,
    });
    for (const month of new Set(drift.map(({ month }) => month))) {
      await totals.rebuild({ tenant, from: month, to: month });
      repaired += 1;
    }
  }
  return repaired;
}
