import type { Bench, BenchOptions } from "../harness/bench.ts";
import { fileOfCheckout } from "../harness/checkout.ts";
import { summarise } from "../harness/figures.ts";
import { base, verdictsAgainst } from "./against.ts";
import type { Took } from "./child.ts";
import { crowdMetric, measureCrowd } from "./crowd.ts";
import { inHand, type Mode } from "./contestant.ts";
import { herdLimits, type HerdMetric, measureHerd } from "./herd.ts";
import { measureLatency } from "./latency.ts";
import { type Member, startMembers } from "./members.ts";
import { measureRecovery, recoveryLimits, type RecoveryMetric } from "./recovery.ts";
import {
  apartBounds,
  type Bound,
  type Effort,
  peers,
  type Result,
  type Row,
  rows,
  spreadBoss,
} from "./rows.ts";
import { doubtOf, durability, makeDatabase, settle, startDurable } from "./server.ts";
import { columns, type Figure, limitVerdict, type Verdict, verdictOf, voided, voidOf } from "./verdicts.ts";

export const ours = "svc";
const control = "control";
/**
 * Cases that run only in the latency rows: `svc` with a separate producer, and the least possible work with a claim
 * (`by-hand`) and without one (`commit`).
 */
const onlyLatency: readonly string[] = ["svc-apart", "by-hand", "commit"];
const recoveries = Object.keys(recoveryLimits) as RecoveryMetric[];
const herds = Object.keys(herdLimits) as HerdMetric[];

export const allMetrics: readonly string[] = [
  ...rows.map(({ metric }) => metric),
  "latency",
  ...recoveries,
  ...herds,
  crowdMetric,
];

/** Compares the job table with two other queues on the same server. */
export const queue: Bench = {
  async run(options) {
    const wanted = chosenRows(options.only);
    const effort = effortOf(options);
    await using server = await startDurable(!options.quick);
    const child =
      options.base === undefined ? undefined : fileOfCheckout(options.base, "bench/queue/child.ts");
    const places = await Promise.all(
      namesOf(wanted, child !== undefined).map(async (name) => ({
        name,
        url: await makeDatabase(server.url, name),
        child: name === base.name || name === base.again ? child : undefined,
      })),
    );
    await using members = await startMembers(places, server.pid);
    for (const line of [...(await durability(server.url)), ...members.all.map(({ about }) => about)])
      options.note(line);
    const queues = members.all.filter(({ name }) => !onlyLatency.includes(name));
    await warmUp(queues, effort.share);
    // Measure latency first, after a checkpoint: the disk stays busy with the writes of the other rows long after they
    // end.
    await settle(server.url);
    const quickest = members.all.filter(({ name }) => name !== spreadBoss);
    const latencies = wanted.latency ? await measureLatency(quickest, effort, options) : [];
    const results: Result[] = [];
    for (const row of wanted.rows) results.push(...(await measureRow(row, queues, effort, options)));
    if (wanted.recoveries.length > 0 && child === undefined) {
      const place = await makeDatabase(server.url, "recovery");
      results.push(...(await measureRecovery(place, wanted.recoveries, effort, options)));
    }
    if (wanted.herds.length > 0 && child === undefined) {
      const place = await makeDatabase(server.url, "herd");
      results.push(...(await measureHerd(place, wanted.herds, effort, options)));
    }
    if (wanted.crowd && child === undefined) results.push(...(await measureCrowd(server, effort, options)));
    const doubt = doubtOf(server.folder);
    if (doubt !== undefined) options.note(doubt);
    return report(
      [...results, ...latencies.map((each) => ({ ...each, doubt: doubt ?? each.doubt }))],
      options,
    );
  },
};

/** Returns the names of the processes. A comparison with another checkout includes no peers. */
function namesOf({ rows: some, latency }: Chosen, isAgainst: boolean): readonly string[] {
  if (isAgainst) return [base.name, ours, base.again, ...(latency ? ["commit"] : [])];
  const isBeside = some.length > 0 || latency;
  return [...(isBeside ? [ours, ...peers, spreadBoss, control] : []), ...(latency ? onlyLatency : [])];
}

const WARM_UP = { portions: 3, jobs: 20_000 };

function effortOf({ quick, rounds }: BenchOptions): Effort {
  return { rounds: rounds ?? (quick ? 2 : 5), share: quick ? 0.05 : 1 };
}

interface Chosen {
  readonly rows: readonly Row[];
  readonly latency: boolean;
  readonly recoveries: readonly RecoveryMetric[];
  readonly herds: readonly HerdMetric[];
  readonly crowd: boolean;
}

function chosenRows(only: readonly string[] | undefined): Chosen {
  const isWanted = (metric: string): boolean =>
    only === undefined || only.some((each) => metric === each || metric.startsWith(`${each}/`));
  const unknown = only?.find(
    (each) => !allMetrics.some((metric) => metric === each || metric.startsWith(`${each}/`)),
  );
  if (unknown !== undefined)
    throw new Error(`there is no row ${unknown}; there are ${allMetrics.join(", ")}`);
  return {
    rows: rows.filter(({ metric }) => isWanted(metric)),
    latency: isWanted("latency"),
    recoveries: recoveries.filter(isWanted),
    herds: herds.filter(isWanted),
    crowd: isWanted(crowdMetric),
  };
}

/** Runs each queue until its code is compiled: the first 50,000 jobs or so are slower. */
async function warmUp(members: readonly Member[], share: number): Promise<void> {
  for (let portion = 0; portion < Math.ceil(WARM_UP.portions * share); portion++) {
    for (const member of members) {
      const jobs = Math.round(WARM_UP.jobs * share);
      const order = { order: "drain", handler: "noop", concurrency: 10, jobs } as const;
      await member.time({ ...order, mode: "fastest" });
      if (portion === 0 && !member.name.startsWith("pg-boss"))
        await member.time({ ...order, mode: "default", jobs: jobs / 4 });
    }
  }
}

// The rows that the control runs too. These few rows show how much two processes of the same case differ.
const CONTROLLED: ReadonlySet<string> = new Set([
  "drain/noop/c10/default",
  "drain/noop/c50/fastest",
  "enqueue/single",
]);

/** Measures one row: the queues take turns, in reverse order in every second round. */
async function measureRow(
  row: Row,
  members: readonly Member[],
  { rounds, share }: Effort,
  { note }: BenchOptions,
): Promise<Result[]> {
  const taking = members.filter(
    ({ name }) => (name !== control || CONTROLLED.has(row.metric)) && row.order(name, 0, share) !== undefined,
  );
  const values = new Map<string, { perSecond: number[]; took: Took[]; jobs: number[] }>(
    taking.map(({ name }) => [name, { perSecond: [], took: [], jobs: [] }]),
  );
  for (let round = 0; round < Math.max(2, Math.round(rounds * row.rounds)); round++) {
    for (const member of round % 2 === 0 ? taking : taking.toReversed()) {
      const order = row.order(member.name, round, share);
      if (order === undefined) continue;
      const took = await member.time(order);
      const of = values.get(member.name);
      of?.perSecond.push((order.jobs / took.wallUs) * 1e6);
      of?.took.push(took);
      of?.jobs.push(order.jobs);
    }
  }
  note(`${row.metric} measured`);
  const [, , concurrency, mode] = row.metric.split("/");
  return taking.map(({ name }) => {
    const { perSecond = [], took = [], jobs = [] } = values.get(name) ?? {};
    const each = (of: (took: Took) => number | undefined): number =>
      summarise(took.map((one, at) => (of(one) ?? Number.NaN) / (jobs[at] ?? Number.NaN))).median;
    return {
      name,
      metric: row.metric,
      unit: row.unit,
      values: perSecond,
      bound: row.bound,
      workerUs: each(({ workerCpuUs }) => workerCpuUs),
      serverUs: each(({ serverCpuUs }) => serverCpuUs),
      inHand:
        concurrency === undefined || mode === undefined
          ? undefined
          : inHand(name, Number(concurrency.slice(1)), mode as Mode),
    };
  });
}

function report(results: readonly Result[], { json, print, note, quick }: BenchOptions): number {
  const figures: Figure[] = results.map(({ name, metric, unit, values }) => ({
    case: name,
    metric,
    value: summarise(values).median,
    unit,
  }));
  if (json) {
    for (const { value, ...figure } of figures)
      print(JSON.stringify({ bench: "queue", ...figure, value: Math.round(value * 1000) / 1000 }));
  } else for (const line of columns(tableOf(results))) print(line);
  const verdicts = [...new Set(results.map(({ metric }) => metric))].flatMap((metric) =>
    verdictsOf(
      results.filter((result) => result.metric === metric),
      figures,
      quick,
    ),
  );
  for (const { line } of verdicts) (json ? note : print)(line);
  return verdicts.some(({ broken }) => broken) ? 1 : 0;
}

/** Returns the verdicts of one row. A quick run compares without bounds, because it measures too little. */
function verdictsOf(results: readonly Result[], figures: readonly Figure[], quick: boolean): Verdict[] {
  const [first] = results;
  if (first === undefined) return [];
  if (results.some(({ name }) => name === base.name)) {
    return quick ? [] : [...verdictsAgainst(first, figures)];
  }
  const { metric, limit, doubt } = first;
  if (limit !== undefined) {
    const own = figures.find((figure) => figure.case === ours && figure.metric === metric);
    return quick || own === undefined ? [] : [limitVerdict(own, limit)];
  }
  const bound = quick ? undefined : first.bound;
  const others = [...peers, spreadBoss];
  const own =
    voidOf([ours, control], others, metric, figures, bound, doubt) ??
    verdictOf(ours, others, metric, figures, bound);
  const verdicts = own === undefined ? [] : [own];
  const apart = apartBoundOf(metric);
  if (apart === undefined || quick) return verdicts;
  const besides = verdictOf("svc-apart", ["graphile-worker"], metric, figures, apart, `${metric} svc-apart`);
  if (besides === undefined) return verdicts;
  return [...verdicts, doubt === undefined ? besides : voided(besides, doubt)];
}

function apartBoundOf(metric: string): Bound | undefined {
  if (metric === "latency/p50") return apartBounds.p50;
  return metric === "latency/p99" ? apartBounds.p99 : undefined;
}

function tableOf(results: readonly Result[]): string[][] {
  const digits = (value: number | undefined, places: number): string =>
    value === undefined || Number.isNaN(value) ? "" : value.toFixed(places);
  return [
    ["", "", "median", "min", "max", "worker us/job", "server us/job", "in hand"],
    ...results.map(({ name, metric, unit, values, workerUs, serverUs, inHand: held }) => {
      const { min, median, max } = summarise(values);
      const places = unit === "per_s" ? 0 : 2;
      return [
        metric,
        name,
        `${digits(median, places)} ${unit === "per_s" ? "/s" : unit}`,
        digits(min, places),
        digits(max, places),
        digits(workerUs, 1),
        digits(serverUs, 1),
        held === undefined ? "" : String(held),
      ];
    }),
  ];
}
