import { startPostgres } from "@svc/dev-services";
import pg from "pg";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { columns } from "../queue/verdicts.ts";
import { fillLedger, type Ledger } from "./data.ts";
import { quantilesOf, type Verdict, verdictOf } from "./figures.ts";
import { type PanelCost, panelCosts, provePanels, timePanels } from "./measure.ts";
import { proveRefresh, type RefreshCost, refreshCost, timeRefreshes } from "./refreshes.ts";

const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "512MB",
  max_wal_size: "4GB",
  // Of a disk that seeks as fast as it reads.
  random_page_cost: "1.1",
  // It would come by in the middle of one row of the table and not of the other.
  autovacuum: "off",
};
const CASES = ["panel", "refresh"];
/** Live to rolled up, at least. The bound stands on six statements, as the contract's figures do. */
const LEAST = { big: 300, typical: 2.5 } as const;
/** The refresh beside four million rows of others to that beside one million, at most. */
const FLAT = 1.5;
const CONTROL: readonly [low: number, high: number] = [0.85, 1.18];

/** What a panel of six totals costs from the expenses and from their monthly totals, and what a refresh costs. */
export const rollups: Bench = {
  description: "a panel of six totals, live and rolled up, and the refresh of a bucket; has bounds",
  async run(options) {
    const { only, note } = options;
    const unknown = only?.find((each) => !CASES.includes(each));
    if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${CASES.join(", ")}`);
    await using server = await startPostgres({ purpose: "test", settings });
    const pool = new pg.Pool({ connectionString: server.url });
    pool.on("error", () => undefined);
    const on = await pool.connect();
    try {
      const share = options.quick ? 0.05 : 1;
      const ledger = await fillLedger(pool, "expenses", { tenants: 100, rowsEach: 2012 }, 990_000 * share);
      note(`PostgreSQL ${server.version}: ${ledger.rows} expenses are there`);
      const verdicts: Verdict[] = [];
      if (only?.includes("panel") ?? true) verdicts.push(...(await runPanel(on, ledger, options)));
      if (only?.includes("refresh") ?? true)
        verdicts.push(...(await runRefresh(pool, on, ledger, share, options)));
      for (const { line } of verdicts) note(line);
      if (options.quick) note("with so few rows and rounds the bounds are not judged");
      return options.quick || verdicts.every(({ broken }) => !broken) ? 0 : 1;
    } finally {
      on.release();
      await pool.end();
    }
  },
};

async function runPanel(
  on: pg.PoolClient,
  ledger: Ledger,
  options: BenchOptions,
): Promise<readonly Verdict[]> {
  await provePanels(on, ledger);
  const rounds = options.rounds ?? (options.quick ? 2 : 8);
  let costs = panelCosts(options.quick);
  await timePanels(on, ledger, costs, rounds);
  let controls = controlsOf(costs);
  if (!options.quick && controls.some(({ broken }) => broken)) {
    options.note("the controls are too far from 1: measuring again, with twice the rounds");
    costs = panelCosts(options.quick);
    await timePanels(on, ledger, costs, 2 * rounds);
    controls = controlsOf(costs);
  }
  tell(costs, options);
  return [
    ...controls,
    ...(["big", "typical"] as const).flatMap((size) => [
      verdictOf(`panel/${size}, six statements`, ratio(costs, `panel/${size}/live`, `panel/${size}/rolled`), {
        least: LEAST[size],
      }),
      verdictOf(
        `panel/${size}, one statement`,
        ratio(costs, `panel/${size}/one/live`, `panel/${size}/one/rolled`),
        {},
      ),
    ]),
  ];
}

function controlsOf(costs: readonly PanelCost[]): readonly Verdict[] {
  const [least, most] = CONTROL;
  return (["big", "typical"] as const).map((size) => {
    const found = ratio(costs, `panel/${size}/control`, `panel/${size}/rolled`);
    return verdictOf(`panel/${size}, the same again`, found, { least, most });
  });
}

const MILLION = 1_000_000;
const TENANTS_A_MILLION = Math.floor(MILLION / 2012);

async function runRefresh(
  pool: pg.Pool,
  on: pg.PoolClient,
  ledger: Ledger,
  share: number,
  options: BenchOptions,
): Promise<readonly Verdict[]> {
  const calls = options.quick ? 10 : 30;
  const rounds = options.rounds ?? (options.quick ? 2 : 8);
  const costs: RefreshCost[] = [
    refreshCost("refresh/big", ledger, "big", 3),
    refreshCost("refresh/typical", ledger, "typical", calls),
  ];
  for (const millions of [1, 2, 4]) {
    const crowd = { tenants: Math.ceil(TENANTS_A_MILLION * millions * share) + 50, rowsEach: 2012 };
    const beside = await fillLedger(pool, `expenses_${millions}m`, crowd, 0);
    options.note(`${beside.rows} expenses of ${crowd.tenants} tenants are there`);
    costs.push(refreshCost(`refresh/${millions}m`, beside, "typical", calls));
  }
  costs.push(refreshCost("refresh/control", costs[1]?.ledger as Ledger, "typical", calls));
  for (const cost of costs) await proveRefresh(on, cost);
  await timeRefreshes(on, costs, rounds);
  tell(costs, options);
  tell(
    costs.map(({ metric, idle }) => ({
      metric: metric.replace("refresh/", "refresh-unchanged/"),
      times: idle,
    })),
    options,
  );
  const [least, most] = CONTROL;
  return [
    verdictOf("refresh/typical, the same again", ratio(costs, "refresh/control", "refresh/typical"), {
      least,
      most,
    }),
    verdictOf("refresh/2m to refresh/1m", ratio(costs, "refresh/2m", "refresh/1m"), { most: FLAT }),
    verdictOf("refresh/4m to refresh/1m", ratio(costs, "refresh/4m", "refresh/1m"), { most: FLAT }),
  ];
}

/** What was measured, by its metric. */
interface Timed {
  readonly metric: string;
  readonly times: readonly number[];
}

function ratio(costs: readonly Timed[], metric: string, base: string): number {
  const p50 = (name: string): number =>
    quantilesOf(costs.find((cost) => cost.metric === name)?.times ?? []).p50;
  return p50(metric) / p50(base);
}

function tell(costs: readonly Timed[], { json, print }: BenchOptions): void {
  const table: string[][] = [["", "calls", "p50 ms", "p95 ms"]];
  for (const { metric, times } of costs) {
    const { p50, p95 } = quantilesOf(times);
    if (json) {
      for (const [name, value] of [
        [metric, p50],
        [`${metric}/p95`, p95],
      ] as const)
        print(
          JSON.stringify({ bench: "rollups", case: "svc", metric: name, value: rounded(value), unit: "ms" }),
        );
    }
    table.push([metric, String(times.length), p50.toFixed(2), p95.toFixed(2)]);
  }
  if (!json) for (const line of columns(table)) print(line);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
