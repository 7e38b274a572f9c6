import { startPostgres } from "@svc/dev-services";
import pg from "pg";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { conclude, type Verdict } from "../harness/verdicts.ts";
import { addCrowd, fillLedger, type Ledger } from "./data.ts";
import { verdictOf } from "./figures.ts";
import { type PanelCost, panelCosts, provePanels, timePanels, TURNS } from "./measure.ts";
import { runPlugin } from "./plugin.ts";
import { proveRefresh, type RefreshCost, refreshCost, timeRefreshes } from "./refreshes.ts";
import { ratio, ratioOf, printTimes } from "./report.ts";

const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "512MB",
  max_wal_size: "4GB",
  work_mem: "64MB",
  maintenance_work_mem: "256MB",
  // The usual value for an SSD, whose random reads are nearly as fast as sequential ones.
  random_page_cost: "1.1",
  // Autovacuum would run during some measurements and not during others.
  autovacuum: "off",
};
/** The expenses of a typical tenant in twelve months. */
const ROWS = 2012;
const CASES = ["panel", "plugin", "refresh"];
/** Minimum factor by which six statements over the totals must be faster than six over the expenses. */
const LEAST = { big: 300, typical: 2.5 } as const;
/** Maximum ratio of the time of a refresh with two or four million rows in the table to that with one million. */
const FLAT = 1.5;
const CONTROL: readonly [low: number, high: number] = [0.85, 1.18];

/**
 * Measures a panel of six totals, computed from the expenses and from their monthly totals, the same panel through a
 * service, and the refresh of a bucket.
 */
export const rollups: Bench = {
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
      const ledger = await fillLedger(
        pool,
        "expenses",
        { first: 0, tenants: 100, rowsEach: ROWS },
        990_000 * share,
      );
      note(
        `PostgreSQL ${server.version}: loaded ${990_000 * share} expenses of one tenant, and ${ROWS} each of 100 others`,
      );
      const verdicts: Verdict[] = [];
      if (only?.includes("panel") ?? true) verdicts.push(...(await runPanel(on, ledger, options)));
      // Run this before the refreshes, which leave dead rows.
      if (only?.includes("plugin") ?? true)
        verdicts.push(...(await runPlugin(server.url, on, ledger, options)));
      if (only?.includes("refresh") ?? true)
        verdicts.push(...(await runRefresh(pool, on, ledger, share, options)));
      return conclude(verdicts, options);
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
  const rounds = options.rounds ?? (options.quick ? 1 : 8);
  let costs = panelCosts();
  await timePanels(on, ledger, costs, rounds);
  let controls = controlsOf(costs);
  if (!options.quick && controls.some(({ mark }) => mark === "FAIL")) {
    options.note("the controls are out of range: measuring again, with twice the rounds");
    costs = panelCosts();
    await timePanels(on, ledger, costs, 2 * rounds);
    controls = controlsOf(costs);
  }
  printTimes(costs, options);
  return [
    ...controls,
    ...(["big", "typical"] as const).flatMap((size) => [
      verdictOf(`panel/${size}, six statements`, ratio(costs, `panel/${size}/live`, `panel/${size}/rolled`), {
        least: LEAST[size],
      }),
      verdictOf(
        `panel/${size}, six statements, any plan`,
        ratio(costs, `panel/${size}/live-any-plan`, `panel/${size}/rolled`),
        {},
      ),
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
    return verdictOf(`panel/${size}, control`, found, { least, most });
  });
}

async function runRefresh(
  pool: pg.Pool,
  on: pg.PoolClient,
  ledger: Ledger,
  share: number,
  options: BenchOptions,
): Promise<readonly Verdict[]> {
  const calls = 6;
  const rounds = TURNS * (options.rounds ?? (options.quick ? 1 : 8));
  const costs: RefreshCost[] = [
    refreshCost("refresh/big", ledger, "big", 1),
    refreshCost("refresh/typical", ledger, "typical", calls),
    refreshCost("refresh/control", ledger, "typical", calls),
  ];
  for (const cost of costs) await proveRefresh(on, cost);
  await timeRefreshes(on, costs, rounds);
  const [, typical, control] = costs;
  const again = ratioOf(control, typical);
  // Alternate with refreshes of a bucket in the unchanged table, so that a disturbance of the machine affects both.
  const relative: number[] = [];
  let grown: Ledger | undefined;
  let tenants = 0;
  for (const millions of [1, 2, 4]) {
    const wanted = Math.ceil((millions * 1_000_000 * share) / ROWS);
    const crowd = { first: tenants, tenants: wanted - tenants, rowsEach: ROWS };
    if (grown === undefined) grown = await fillLedger(pool, "more_expenses", crowd, 0);
    else await addCrowd(pool, grown, crowd);
    tenants = wanted;
    options.note(`loaded ${tenants * ROWS} expenses of ${tenants} tenants`);
    const cost = refreshCost(`refresh/${millions}m`, grown, "typical", calls);
    const beside = refreshCost("refresh/typical", ledger, "typical", calls);
    await proveRefresh(on, cost);
    await timeRefreshes(on, [cost, beside], rounds);
    costs.push(cost);
    relative.push(ratioOf(cost, beside));
  }
  printTimes(costs, options);
  printTimes(
    costs.map(({ metric, idle }) => ({
      metric: metric.replace("refresh/", "refresh-unchanged/"),
      times: idle,
    })),
    options,
  );
  const [least, most] = CONTROL;
  const [one = Number.NaN, two = Number.NaN, four = Number.NaN] = relative;
  return [
    verdictOf("refresh/typical, control", again, { least, most }),
    verdictOf("refresh/2m to refresh/1m", two / one, { most: FLAT }),
    verdictOf("refresh/4m to refresh/1m", four / one, { most: FLAT }),
  ];
}
