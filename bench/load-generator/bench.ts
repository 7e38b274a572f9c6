import { NoServerError, requireProgram } from "@svc/dev-services";
import { startNode } from "../gateway-load/node-process.ts";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import { lastCpu, pin } from "../harness/pin.ts";
import { conclude, judged, unbounded, type Verdict } from "../harness/verdicts.ts";
import { type Generator, startLibrary, wrk, wrkProgram } from "./generators.ts";
import { knownPercentiles, type Percentiles } from "./known-latencies.ts";
import type { Effort, Reading } from "./reading.ts";

const CLIENTS = 50;
/** Maximum error of a percentile of the known server, as a share of the percentile. */
const TOLERANCE = 0.02;
/** The minimum throughput of svc: relative to autocannon, and absolute unless the server is slower. */
const LEAST_RATIO = 0.8;
const LEAST_PER_SECOND = 36_000;
/** Requests per second of the open loop. At this rate a third of the clients wait for a response. */
const RATE = 500;
const PERCENTILE_ROUNDS = 3;

type Readings = ReadonlyMap<string, readonly Reading[]>;

/**
 * Measures load generators against a bare server of node:http, and their percentiles against a server with known
 * percentiles.
 */
export const loadGenerator: Bench = {
  async run(options) {
    const names = ["svc", "autocannon", "wrk"];
    const unknown = options.only?.filter((name) => !names.includes(name)) ?? [];
    if (unknown.length > 0)
      throw new Error(`there is no case ${unknown.join(", ")}; there are ${names.join(", ")}`);
    await using stack = new AsyncDisposableStack();
    const generators = new Map<string, Generator>();
    for (const name of names) {
      if (options.only !== undefined && name !== "svc" && !options.only.includes(name)) continue;
      const generator = await startGenerator(name, options);
      if (generator !== undefined) generators.set(name, stack.use(generator));
    }
    const readings = await measureThroughput(generators, options);
    const verdicts = throughputVerdicts(readings);
    verdicts.push(...(await measurePercentiles(generators, options)));
    return conclude(verdicts, options);
  },
};

async function startGenerator(name: string, { note }: BenchOptions): Promise<Generator | undefined> {
  if (name !== "wrk") return startLibrary(name);
  try {
    return wrk(requireProgram(wrkProgram));
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
    note(`wrk: skipped, ${error.summary}`);
    return undefined;
  }
}

/** Runs all generators in turn, in reverse order in every second round. */
async function measureThroughput(
  generators: ReadonlyMap<string, Generator>,
  { quick, rounds = quick ? 1 : 7, note, ...output }: BenchOptions,
): Promise<Readings> {
  await using target = await startNode(new URL("./target-process.ts", import.meta.url).href);
  pin(target.pid, lastCpu);
  const effort: Effort = { url: target.url, clients: CLIENTS, seconds: quick ? 1 : 3 };
  for (const generator of generators.values()) await generator.run({ ...effort, seconds: 1 });
  const readings = new Map([...generators.keys()].map((name) => [name, [] as Reading[]]));
  for (let round = 1; round <= rounds; round++) {
    const inOrder = [...generators];
    for (const [name, generator] of round % 2 === 0 ? inOrder.toReversed() : inOrder)
      readings.get(name)?.push(await generator.run(effort));
    note(`round ${round} of ${rounds}`);
  }
  for (const [name, all] of readings) {
    show(output, name, "requests_per_s", medianOf(all, "requestsPerSecond"));
    show(output, name, "us_cpu_per_request", medianOf(all, "cpuUs"));
  }
  return readings;
}

function throughputVerdicts(readings: Readings): Verdict[] {
  const rateOf = (name: string): number => medianOf(readings.get(name) ?? [], "requestsPerSecond");
  const [svc, autocannon, most] = [rateOf("svc"), rateOf("autocannon"), rateOf("wrk")];
  const verdicts: Verdict[] = [];
  if (readings.has("autocannon")) {
    const ratio = svc / autocannon;
    verdicts.push(
      judged(ratio >= LEAST_RATIO, `svc: ${ratio.toFixed(2)} x autocannon, bound at least ${LEAST_RATIO}`),
    );
  }
  const absolute = `svc: ${Math.round(svc)} requests per second`;
  // The server limits every generator if not even wrk is faster.
  const isLimited = svc < LEAST_PER_SECOND && most < LEAST_PER_SECOND;
  verdicts.push(
    isLimited
      ? unbounded(`${absolute}; the server allows only ${Math.round(most)}`)
      : judged(svc >= LEAST_PER_SECOND, `${absolute}, bound at least ${LEAST_PER_SECOND}`),
  );
  return verdicts;
}

/** Compares the percentiles of svc with those of the known server, in a closed and an open loop. */
async function measurePercentiles(
  generators: ReadonlyMap<string, Generator>,
  { quick, note, ...output }: BenchOptions,
): Promise<readonly Verdict[]> {
  await using target = await startNode(new URL("./known-process.ts", import.meta.url).href);
  pin(target.pid, lastCpu);
  const effort: Effort = { url: target.url, clients: CLIENTS, seconds: quick ? 2 : 5 };
  const rounds = quick ? 1 : PERCENTILE_ROUNDS;
  const cases = [
    { name: "svc-closed", by: generators.get("svc"), effort },
    { name: "svc-open", by: generators.get("svc"), effort: { ...effort, rate: RATE } },
    { name: "autocannon", by: generators.get("autocannon"), effort },
  ];
  const runs = new Map(cases.map(({ name }) => [name, [] as PercentileRun[]]));
  for (let round = 1; round <= rounds; round++) {
    for (const each of cases) {
      const measured = await each.by?.run(each.effort);
      const served = (await (await fetch(`${target.url}/percentiles`)).json()) as Percentiles;
      if (measured !== undefined) runs.get(each.name)?.push({ measured, served });
    }
    note(`percentiles: round ${round} of ${rounds}`);
  }
  for (const percentile of percentileNames)
    show(output, "known", metricOf(percentile), knownPercentiles[percentile]);
  return [...runs].flatMap(([name, all]) => percentileVerdicts(name, all, output));
}

/** The measurements of a generator, and the real durations of the server's responses. */
interface PercentileRun {
  readonly measured: Reading;
  readonly served: Percentiles;
}

const percentileNames = ["p50Ms", "p95Ms", "p99Ms"] as const;

function metricOf(percentile: keyof Percentiles): string {
  return percentile.replace("Ms", "_ms");
}

/** Prints the percentiles of a case, and compares them with bounds if the case uses svc. */
function percentileVerdicts(
  name: string,
  runs: readonly PercentileRun[],
  output: Pick<BenchOptions, "json" | "print">,
): readonly Verdict[] {
  return percentileNames.flatMap((percentile) => {
    const pairs = runs.flatMap(({ measured, served }) => {
      const value = measured[percentile];
      return value === undefined ? [] : [{ value, error: value / served[percentile] - 1 }];
    });
    if (pairs.length === 0) return [];
    show(output, name, metricOf(percentile), summarise(pairs.map(({ value }) => value)).median);
    const error = summarise(pairs.map((pair) => pair.error)).median;
    show(output, name, `${metricOf(percentile)}_error`, error);
    if (name === "autocannon") return [];
    const text = `${name}: ${percentile.slice(0, 3)} is ${(error * 100).toFixed(2)} % off, bound at most ${TOLERANCE * 100} %`;
    return [judged(Math.abs(error) <= TOLERANCE, text)];
  });
}

function medianOf(readings: readonly Reading[], member: "requestsPerSecond" | "cpuUs"): number {
  return summarise(readings.map((reading) => reading[member])).median;
}

function show(
  { json, print }: Pick<BenchOptions, "json" | "print">,
  name: string,
  metric: string,
  exact: number,
): void {
  const value = Math.round(exact * 1000) / 1000;
  const line = `${name.padEnd(14)}${metric.padEnd(20)}${value.toFixed(2).padStart(12)}`;
  print(json ? JSON.stringify({ bench: "load-generator", case: name, metric, value }) : line);
}
