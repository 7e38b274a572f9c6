import { startPostgres } from "@svc/dev-services";
import pg from "pg";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import { columns } from "../queue/verdicts.ts";
import { timeCalls, timeWorker } from "./claims.ts";
import { type Growth, measureGrowth, type Sizes } from "./growth.ts";
import { type State, statesOf } from "./states.ts";
import { fill, type Filled } from "./tables.ts";

const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
};
const GROWTH = "growth";

/** What a claim costs while many other rows lie in the table, and what a million jobs leave behind. */
export const queueDepth: Bench = {
  description:
    "what a claim costs beside many other rows and an old snapshot, and how far a table grows; has bounds",
  async run(options) {
    const effort = effortOf(options);
    const states = chosen(statesOf(effort.share), options.only);
    await using server = await startPostgres({ purpose: "test", settings });
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
  /** Claims of each kind in a round. */
  readonly claims: number;
}

function effortOf({ quick, rounds }: BenchOptions): Effort {
  return { rounds: rounds ?? (quick ? 2 : 5), share: quick ? 0.02 : 1, claims: quick ? 20 : 100 };
}

/** The first one is always among them, unless there are none. */
function chosen(states: readonly State[], only: readonly string[] | undefined): readonly State[] {
  const names = [...states.map(({ name }) => name), GROWTH];
  const unknown = only?.find((each) => !names.includes(each));
  if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${names.join(", ")}`);
  return states.filter(({ name }, at) => only === undefined || at === 0 || only.includes(name));
}

interface Cost {
  readonly state: State;
  readonly call: number[];
  readonly worker: number[];
}

/** Each state in turn, every other round backwards. */
async function runClaims(
  url: string,
  states: readonly State[],
  { rounds, claims }: Effort,
  { note, ...options }: BenchOptions,
): Promise<number> {
  const filled: Filled[] = [];
  const costs: Cost[] = states.map((state) => ({ state, call: [], worker: [] }));
  try {
    for (const state of states) {
      // A snapshot holds back what is cleared away in its own database alone.
      const place = state.heldFor === undefined ? url : await makeDatabase(url, "held");
      filled.push(await fill(place, state));
      note(`${state.name} is there`);
    }
    const order = costs.map((cost, at) => ({ cost, of: filled[at] as Filled }));
    for (let round = 0; round < rounds; round++) {
      for (const { cost, of } of round % 2 === 0 ? order : order.toReversed()) {
        // The planner knows of what lies there, and what the round before left is as clear as it gets.
        await of.pool.query(`vacuum analyze ${of.table.name}`);
        cost.call.push(...(await timeCalls(of.table, claims)));
        cost.worker.push(...(await timeWorker(of.pool, of.table, claims)));
      }
    }
  } finally {
    for (const each of filled) await each[Symbol.asyncDispose]();
  }
  return report(costs, options, note);
}

async function makeDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

function report(
  costs: readonly Cost[],
  { json, print }: Omit<BenchOptions, "note">,
  note: (line: string) => void,
): number {
  const base = costs[0];
  const table: string[][] = [["", "call p50 ms", "ratio", "worker p50 ms", "ratio", "bound"]];
  let broken = 0;
  for (const { state, call, worker } of costs) {
    const p50 = { call: summarise(call).median, worker: summarise(worker).median };
    const ratio = {
      call: p50.call / summarise(base?.call ?? []).median,
      worker: p50.worker / summarise(base?.worker ?? []).median,
    };
    if (json) {
      for (const kind of ["call", "worker"] as const) {
        const figure = { bench: "queue-depth", case: "svc", metric: `${kind}/${state.name}` };
        print(JSON.stringify({ ...figure, value: Math.round(p50[kind] * 1000) / 1000, unit: "ms" }));
      }
    }
    table.push([
      state.name,
      p50.call.toFixed(3),
      ratio.call.toFixed(2),
      p50.worker.toFixed(3),
      ratio.worker.toFixed(2),
      state === base?.state ? "" : `at most ${state.bound}`,
    ]);
    for (const kind of ["call", "worker"] as const) {
      if (ratio[kind] <= state.bound) continue;
      broken += 1;
      note(
        `${kind}: ${state.name} costs ${ratio[kind].toFixed(2)} x the empty case; the bound is ${state.bound}`,
      );
    }
  }
  if (!json) for (const line of columns(table)) print(line);
  return broken === 0 ? 0 : 1;
}

async function runGrowth(url: string, { share }: Effort, { json, print }: BenchOptions): Promise<void> {
  const growth = await measureGrowth(await makeDatabase(url, GROWTH), Math.round(1_000_000 * share));
  for (const line of json ? figuresOf(growth) : linesOf(growth)) print(line);
}

const MOMENTS = ["filled", "drained", "vacuumed", "filledAgain"] as const;

function figuresOf(growth: Growth): string[] {
  return MOMENTS.flatMap((moment) =>
    (["table", "indexes"] as const).map((part) =>
      JSON.stringify({
        bench: "queue-depth",
        case: "svc",
        metric: `size/${moment}/${part}`,
        value: growth[moment][part],
        unit: "bytes",
      }),
    ),
  );
}

function linesOf({ jobs, filled, drained, vacuumed, filledAgain, perSecond }: Growth): string[] {
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  const row = (what: string, { table, indexes }: Sizes): string[] => [
    what,
    megabytes(table),
    megabytes(indexes),
  ];
  return [
    ...columns([
      ["", "table", "indexes"],
      row(`${jobs} jobs queued`, filled),
      row("all done", drained),
      row("autovacuum has come by", vacuumed),
      row(`${jobs} jobs queued again`, filledAgain),
    ]),
    `${perSecond.toFixed(0)} jobs/s`,
  ];
}
