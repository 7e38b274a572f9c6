import type { Queryable } from "@svc/sql";
import { BIG, type Ledger, TYPICAL } from "./data.ts";
import { expectIndexRanges, readingsOf, record } from "./plans.ts";

/** A bucket that is refreshed repeatedly, and the times in milliseconds. */
export interface RefreshCost {
  readonly metric: string;
  readonly ledger: Ledger;
  readonly tenant: string;
  /** The number of refreshes in a round. */
  readonly calls: number;
  readonly times: number[];
  /** The times of refreshes that write no total, because the bucket has not changed. */
  readonly idle: number[];
}

/** A moment in the middle of one of the twelve months. */
const AT = "2026-03-15T12:00:00Z";

export function refreshCost(
  metric: string,
  ledger: Ledger,
  size: "big" | "typical",
  calls: number,
): RefreshCost {
  return { metric, ledger, tenant: size === "big" ? BIG : TYPICAL, calls, times: [], idle: [] };
}

/** @throws Error when a refresh reads the expenses or the totals without a range of an index */
export async function proveRefresh(on: Queryable, { metric, ledger, tenant }: RefreshCost): Promise<number> {
  const recording = record(on);
  await on.query("begin");
  await ledger.rollup.refresh(recording.on, { tenant, at: AT });
  const tables = [ledger.table, `${ledger.table}_monthly`] as const;
  const readings = await readingsOf(on, recording.statements, tables);
  await on.query("commit");
  expectIndexRanges(metric, readings, tables[0], ["tenant_id", "paid_at"]);
  expectIndexRanges(metric, readings, tables[1], ["tenant", "month"]);
  return recording.statements.length;
}

/**
 * Changes a row of the bucket and times a refresh, then times another refresh without a change. Each time covers the
 * transaction with its commit.
 */
export async function timeRefreshes(
  on: Queryable,
  costs: readonly RefreshCost[],
  rounds: number,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const cost of round % 2 === 0 ? costs : costs.toReversed()) {
      for (let call = 0; call < cost.calls; call++) {
        await changeRow(on, cost);
        cost.times.push(await timeRefresh(on, cost, true));
        cost.idle.push(await timeRefresh(on, cost, false));
      }
    }
  }
}

async function changeRow(on: Queryable, { ledger, tenant }: RefreshCost): Promise<void> {
  await on.query(
    `update ${ledger.table} set amount = amount + 1
     where (tenant_id, paid_at) = (
       select tenant_id, paid_at from ${ledger.table}
       where tenant_id = $1 and paid_at >= $2 and status = 'paid' order by paid_at limit 1)`,
    [tenant, AT],
  );
}

async function timeRefresh(
  on: Queryable,
  { metric, ledger, tenant }: RefreshCost,
  changed: boolean,
): Promise<number> {
  const begun = performance.now();
  await on.query("begin");
  const { written } = await ledger.rollup.refresh(on, { tenant, at: AT });
  await on.query("commit");
  const took = performance.now() - begun;
  if (written !== (changed ? 1 : 0)) throw new Error(`${metric}: ${written} totals were written`);
  return took;
}
