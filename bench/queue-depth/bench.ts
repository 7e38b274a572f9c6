import { startPostgres } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import { makeDatabase } from "../queue/server.ts";
import { columns } from "../queue/verdicts.ts";
import { timeCalls, timeByHand, timeWorker } from "./claims.ts";
import { type Growth, measureGrowth, type Sizes } from "./growth.ts";
import { isFullOfDue, type State, statesOf } from "./states.ts";
import { fill, type Filled } from "./tables.ts";

const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
};
const GROWTH = "growth";
const VACUUM_EVERY = 4;
// Pages that one vacuum empties become reusable only after the next vacuum, so the sizes stay the same from the third
// filling on.
const FILLINGS = 4;

/** Measures the time of a claim in tables with many other rows, and how much a table grows over a million jobs. */
export const queueDepth: Bench = {
  async run(options) {
    const effort = effortOf(options);
    const states = chosen(statesOf(effort.share), options.only);
    // A quick run does not wait a minute for autovacuum.
    const naps = options.quick ? { autovacuum_naptime: "1s" } : {};
    await using server = await startPostgres({ purpose: "test", settings: { ...settings, ...naps } });
    let code = 0;
    if (states.length > 1) code = await runClaims(server.url, states, effort, options);
    if (options.only === undefined || options.only.includes(GROWTH))
      await runGrowth(server.url, effort, options);
    return code;
  },
};

interface Effort {
  readonly rounds: number;
  readonly share: number;
  /** The number of claims of each kind in a round. */
  readonly claims: number;
}

function effortOf({ quick, rounds }: BenchOptions): Effort {
  return { rounds: rounds ?? (quick ? 2 : 20), share: quick ? 0.02 : 1, claims: quick ? 10 : 25 };
}

/** Returns the chosen states and, as the base of the comparison, the first state. */
function chosen(states: readonly State[], only: readonly string[] | undefined): readonly State[] {
  const names = [...states.map(({ name }) => name), GROWTH];
  const unknown = only?.find((each) => !names.includes(each));
  if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${names.join(", ")}`);
  return states.filter(({ name }, at) => only === undefined || at === 0 || only.includes(name));
}

/**
 * The measured kinds of claim: `claim()` with its defaults, `claim()` with `claimOrder: "relaxed"`, the statements of a
 * worker, and the shortest handwritten claim.
 */
const KINDS = ["call", "relaxed", "worker", "by-hand"] as const;
type Kind = (typeof KINDS)[number];

interface Cost {
  readonly state: State;
  readonly times: Readonly<Record<Kind, number[]>>;
}

/** Measures each state in turn, in reverse order in every second round. */
async function runClaims(
  url: string,
  states: readonly State[],
  { rounds, claims }: Effort,
  { note, ...options }: BenchOptions,
): Promise<number> {
  const filled: Filled[] = [];
  const costs: Cost[] = states.map((state) => ({
    state,
    times: { call: [], relaxed: [], worker: [], "by-hand": [] },
  }));
  try {
    for (const state of states) {
      // An open snapshot keeps dead rows only in its own database, so a state with such a snapshot gets its own database.
      const place = state.heldFor === undefined ? url : await makeDatabase(url, `held-${filled.length}`);
      filled.push(await fill(place, state));
      note(`${state.name}: loaded`);
    }
    const order = costs.map((cost, at) => {
      const of = filled[at] as Filled;
      return {
        cost,
        of,
        relaxed: createJobTable({ db: of.pool, name: of.table.name, claimOrder: "relaxed" }),
      };
    });
    for (let round = 0; round < rounds; round++) {
      // Give the planner statistics, and remove the dead rows of earlier rounds as far as open snapshots allow.
      if (round % VACUUM_EVERY === 0) {
        for (const { pool, table } of filled) await pool.query(`vacuum analyze ${table.name}`);
      }
      for (const { cost, of, relaxed } of round % 2 === 0 ? order : order.toReversed()) {
        cost.times.call.push(...(await timeCalls(of.table, claims)));
        cost.times.relaxed.push(...(await timeCalls(relaxed, claims)));
        cost.times.worker.push(...(await timeWorker(of.pool, of.table, claims)));
        if (isFullOfDue(of.state)) continue;
        cost.times["by-hand"].push(...(await timeByHand(of.pool, of.table, claims)));
      }
    }
  } finally {
    for (const each of filled) await each[Symbol.asyncDispose]();
  }
  return report(costs, options, note);
}

function report(
  costs: readonly Cost[],
  { json, print, quick: isQuick }: Omit<BenchOptions, "note">,
  note: (line: string) => void,
): number {
  const base = costs[0];
  const table: string[][] = [["", ...KINDS.flatMap((kind) => [`${kind} p50 ms`, "ratio"]), "bound"]];
  let broken = 0;
  for (const { state, times } of costs) {
    const row: string[] = [state.name];
    for (const kind of KINDS) {
      if (times[kind].length === 0) {
        row.push("", "");
        continue;
      }
      const p50 = summarise(times[kind]).median;
      const ratio = p50 / summarise(base?.times[kind] ?? []).median;
      row.push(p50.toFixed(3), ratio.toFixed(2));
      if (json) {
        const figure = { bench: "queue-depth", case: "svc", metric: `${kind}/${state.name}` };
        print(JSON.stringify({ ...figure, value: Math.round(p50 * 1000) / 1000, unit: "ms" }));
      }
      if (isQuick || ratio <= state.bound || kind === "by-hand") continue;
      broken += 1;
      note(`${kind}: ${state.name} costs ${ratio.toFixed(2)} x the empty case; the bound is ${state.bound}`);
    }
    table.push([...row, state === base?.state ? "" : `at most ${state.bound}`]);
  }
  if (!json) for (const line of columns(table)) print(line);
  return broken === 0 ? 0 : 1;
}

async function runGrowth(
  url: string,
  { share }: Effort,
  { json, print, quick }: BenchOptions,
): Promise<void> {
  const growth = await measureGrowth(
    await makeDatabase(url, GROWTH),
    Math.round(1_000_000 * share),
    quick ? 2 : FILLINGS,
  );
  for (const line of json ? figuresOf(growth) : linesOf(growth)) print(line);
}

const MOMENTS = ["filled", "drained", "vacuumed"] as const;

function figuresOf({ fillings }: Growth): string[] {
  return fillings.flatMap((filling, at) =>
    MOMENTS.flatMap((moment) =>
      (["table", "indexes"] as const).map((part) =>
        JSON.stringify({
          bench: "queue-depth",
          case: "svc",
          metric: `size/${moment}-${at + 1}/${part}`,
          value: filling[moment][part],
          unit: "bytes",
        }),
      ),
    ),
  );
}

function linesOf({ jobs, fillings }: Growth): readonly string[] {
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  const row = (what: string, { table, indexes }: Sizes): string[] => [
    what,
    megabytes(table),
    megabytes(indexes),
  ];
  const rows = fillings.flatMap(({ filled, drained, vacuumed, perSecond }, at) => [
    row(`${jobs} jobs queued${at === 0 ? "" : " again"}`, filled),
    row(`all jobs done, ${perSecond.toFixed(0)} jobs/s`, drained),
    row("after autovacuum", vacuumed),
  ]);
  return columns([["", "table", "indexes"], ...rows]);
}
