import type { Queryable } from "@svc/sql";
import { BIG, type Ledger, TYPICAL } from "./data.ts";
import { liveOne, liveSix, type Panel, rolledOne, rolledSix, type Way } from "./panel.ts";
import { expectIndexRanges, readingsOf, record } from "./plans.ts";

/** One way to compute the panel of one tenant, and its times in milliseconds. */
export interface PanelCost {
  readonly metric: string;
  readonly tenant: string;
  readonly way: Way;
  /** Whether the planner may read a whole table instead of a range of an index. */
  readonly anyPlan: boolean;
  /** Whether it is so slow that it runs only once per round. */
  readonly isSlow: boolean;
  readonly times: number[];
}

/** The tenants whose panels are measured, by size. */
export const TENANTS = { big: BIG, typical: TYPICAL } as const;
const WAYS: Readonly<Record<string, WayOfPanel>> = {
  live: { way: liveSix, reads: "expenses" },
  rolled: { way: rolledSix, reads: "totals" },
  "one/live": { way: liveOne, reads: "expenses" },
  "one/rolled": { way: rolledOne, reads: "totals" },
  // The planner may read the whole table for a tenant that owns most of its rows.
  "live-any-plan": { way: liveSix, reads: "expenses", anyPlan: true },
  // This case repeats `rolled`; the difference shows the noise of the machine.
  control: { way: rolledSix, reads: "totals" },
};

interface WayOfPanel {
  readonly way: Way;
  readonly reads: "expenses" | "totals";
  readonly anyPlan?: boolean;
}

/** The number of turns in a round. Turns are short, so that a disturbance of the machine affects all ways. */
export const TURNS = 5;
const CALLS = 6;

export function panelCosts(): PanelCost[] {
  return Object.entries(TENANTS).flatMap(([size, tenant]) =>
    Object.entries(WAYS).map(([name, { way, reads, anyPlan = reads === "totals" }]) => {
      const isSlow = size === "big" && reads === "expenses";
      return { metric: `panel/${size}/${name}`, tenant, way, anyPlan, isSlow, times: [] };
    }),
  );
}

/**
 * Checks that all ways compute the same panel, and that the ways that read the expenses use a range of their index.
 *
 * @throws Error for a way that fails a check
 */
export async function provePanels(on: Queryable, ledger: Ledger): Promise<void> {
  const tables = { expenses: ledger.table, totals: `${ledger.table}_monthly` };
  const columns = { expenses: ["tenant_id", "paid_at"], totals: ["tenant_id", "month"] };
  for (const tenant of Object.values(TENANTS)) {
    let expected: string | undefined;
    for (const [name, { way, reads, anyPlan = false }] of Object.entries(WAYS)) {
      const what = `${name} of ${tenant}`;
      const recording = record(on);
      const panel = await way(recording.on, ledger, tenant);
      expectWhole(panel);
      const found = JSON.stringify(panel);
      expected ??= found;
      if (found !== expected) throw new Error(`${what}: ${found} is not ${expected}`);
      await on.query(`set enable_seqscan = ${reads === "totals" ? "on" : "off"}`);
      const readings = await readingsOf(on, recording.statements, Object.values(tables));
      if (!anyPlan) expectIndexRanges(what, readings, tables[reads], columns[reads]);
      if (readings.some(({ table }) => table !== tables[reads]))
        throw new Error(`${what} reads another table`);
    }
  }
}

/** @throws Error for a panel without its months or categories */
export function expectWhole(panel: Panel): void {
  if (panel.lastTwelveMonths.length === 12 && panel.monthByCategory.length > 0) return;
  throw new Error(`the panel is incomplete: ${JSON.stringify(panel)}`);
}

/** Times the ways in turn, in reverse order in every second round. */
export async function timePanels(
  on: Queryable,
  ledger: Ledger,
  costs: readonly PanelCost[],
  rounds: number,
): Promise<void> {
  for (let turn = 0; turn < rounds * TURNS; turn++) {
    for (const { way, anyPlan, tenant, isSlow, times } of turn % 2 === 0 ? costs : costs.toReversed()) {
      if (isSlow && turn % TURNS > 0) continue;
      await on.query(`set enable_seqscan = ${anyPlan ? "on" : "off"}`);
      // Make an untimed call first, because the processor's caches hold the data of the other ways.
      if (!isSlow) await way(on, ledger, tenant);
      for (let call = 0; call < (isSlow ? 1 : CALLS); call++) {
        const begun = performance.now();
        await way(on, ledger, tenant);
        times.push(performance.now() - begun);
      }
    }
  }
  await on.query("reset enable_seqscan");
}
