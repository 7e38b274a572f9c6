import { setTimeout as delay } from "node:timers/promises";
import { judgeExit, judgeRound, judgeStop } from "./collector-faults/judge.ts";
import {
  type Fault,
  faultRound,
  healthyRound,
  type Scene,
  settle,
  type Totals,
} from "./collector-faults/round.ts";
import { limitsOf } from "./collector-faults/rules.ts";
import { exitSuddenly, stopAfter, stopWithout } from "./collector-faults/stops.ts";
import { merged, type Row, tableOf } from "./collector-faults/table.ts";
import { startTracedService, type TracedOptions } from "./collector-faults/traced-service.ts";
import { createRandom } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";

/** Requests per second until the rate is known, and in a short run. */
const FIRST_RATE = 500;
const MOST_RATE = 4000;
/** The share of one core that the service uses for the load. */
const CPU_SHARE = 0.3;
const WARM_UP_MS = 2000;
/**
 * Maximum number of repetitions of a round whose latencies exceed their limits, because another process may be the cause.
 */
const MOST_REPEATS = 2;
/** Milliseconds by which a stop may exceed its time limit. */
const STOP_ROOM_MS = 500;
/** The same in a short run, which shares the machine with other tests. */
const BUSY_ROOM_MS = 3000;
/** Maximum duration of a stop while the collector responds, in milliseconds. */
const PROMPT_STOP_MS = 1000;

const failing = { fails: true, acceptsFailed: false, burst: 0 } as const;
const faults: readonly Fault[] = [
  { ...failing, name: "refuses", behaviour: "refuse" },
  { ...failing, name: "hangs", behaviour: "hang" },
  { ...failing, name: "full queue", behaviour: "hang", burst: 3000 },
  { ...failing, name: "429", behaviour: "429" },
  { ...failing, name: "503", behaviour: "503" },
  { ...failing, name: "500", behaviour: "500" },
  { ...failing, name: "garbage", behaviour: "garbage", fails: false },
  { ...failing, name: "drips", behaviour: "drip", acceptsFailed: true },
];
/** The fault that shows the defect of each variant. */
const faultOf: Readonly<Record<string, string>> = {
  "broken-awaits-export": "hangs",
  "broken-unbounded-queue": "full queue",
};

function faultsOf({ variant, quick }: Run): readonly Fault[] {
  const only = faultOf[variant] ?? (quick ? "full queue" : undefined);
  return only === undefined ? faults : faults.filter(({ name }) => name === only);
}

/** Exposes a service that exports spans to the faults of a collector. */
export const collectorFaults: Experiment = {
  name: "collector-faults",
  description: "a collector that refuses, hangs, fails, drips or dies under load: requests do not notice",
  brokenVariants: ["broken-awaits-export", "broken-unbounded-queue"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    const seconds = run.seconds ?? (run.quick ? 1 : 30);
    const random = createRandom(seed);
    const options: TracedOptions = {
      exportTimeoutSeconds: Math.min(10, Math.max(1, seconds / 2)),
      shutdownTimeoutSeconds: run.quick ? 1 : 5,
      variant: run.variant,
    };
    const roomMs = run.quick ? BUSY_ROOM_MS : STOP_ROOM_MS;
    report.note(`--seed ${seed}, export_timeout = ${options.exportTimeoutSeconds} s`);
    const { rate, rows } = await runRounds();
    const stops = run.variant === asBuilt ? await runStops(rate) : [];
    for (const line of tableOf(merged([...rows, ...stops]))) report.note(line);

    async function runRounds(): Promise<{ readonly rate: number; readonly rows: readonly Row[] }> {
      await using traced = await startTracedService(options, random, FIRST_RATE);
      const scene: Scene = { ...traced, seconds, exportTimeoutMs: options.exportTimeoutSeconds * 1000 };
      const rate = await warmUp(scene, run, report);
      const start = await settle(scene);
      await scene.collector.ask("accepted");
      const rows = await roundsOf(scene, start, run, report);
      if (run.variant !== asBuilt) return { rate, rows };
      await scene.load.pause();
      const stop = await stopAfter("after the faults", traced);
      return { rate, rows: [...rows, judgeStop(stop, PROMPT_STOP_MS + roomMs, report)] };
    }

    async function runStops(rate: number): Promise<readonly Row[]> {
      // The batch that is in flight at the stop must not fail before the stop ends.
      const patient: TracedOptions = { ...options, exportTimeoutSeconds: 10 };
      const mostMs = patient.shutdownTimeoutSeconds * 1000 + roomMs;
      const rows: Row[] = [];
      for (const end of ["hangs", "dies"] as const)
        rows.push(judgeStop(await stopWithout(end, patient, random, rate), mostMs, report));
      return [...rows, judgeExit(await exitSuddenly(patient, random, rate), report)];
    }
  },
};

/**
 * Sends requests until the service's code is compiled, and sets the rate of the load. Returns the rate in requests per
 * second.
 */
async function warmUp(scene: Scene, run: Run, report: Report): Promise<number> {
  const { load } = scene;
  load.resume();
  await delay(WARM_UP_MS);
  let rate = FIRST_RATE;
  // Calibrate the rate only without a variant, because a variant is slow by design.
  if (!run.quick && run.variant === asBuilt) {
    for (let turn = 0; turn < 3; turn++) {
      const share = await cpuShare(scene);
      rate = Math.min(MOST_RATE, Math.round((rate * CPU_SHARE) / share));
      load.setRate(rate);
    }
  }
  const share = await cpuShare(scene);
  report.figure("load", "rate", rate, "requests/s");
  report.figure("load", "CPU of the service", share * 100, "% of a core");
  return rate;
}

async function cpuShare({ service }: Scene): Promise<number> {
  const begun = performance.now();
  const before = await service.ask<NodeJS.CpuUsage>("cpu");
  await delay(WARM_UP_MS);
  const after = await service.ask<NodeJS.CpuUsage>("cpu");
  const usedUs = after.user + after.system - before.user - before.system;
  return usedUs / 1000 / (performance.now() - begun);
}

/** Runs and checks a round of each fault, with a healthy round before and after it. */
async function roundsOf(scene: Scene, since: Totals, run: Run, report: Report): Promise<readonly Row[]> {
  // A variant must break a rule, so its rounds are not repeated.
  const mostRepeats = run.quick || run.variant !== asBuilt ? 0 : MOST_REPEATS;
  const chosen = faultsOf(run);
  const rows: Row[] = [];
  let before = await healthyRound(scene);
  let end = since;
  for (const fault of Array.from({ length: run.runs ?? 1 }, () => chosen).flat()) {
    for (let repeats = 0; ; repeats++) {
      report.note(`${fault.name}: ${scene.seconds} s`);
      const round = await faultRound(scene, fault, end);
      const after = await healthyRound(scene);
      const limits = limitsOf(before.latency, after.latency);
      const isSlow = round.latency.p50 > limits.p50 || round.latency.p99 > limits.p99;
      const isRepeated = isSlow && repeats < mostRepeats;
      if (isRepeated) report.note(`${fault.name}: repeated because of its latencies`);
      // Do not check latencies in a short run, which shares the machine with other tests.
      const isJudged = !isRepeated && (!run.quick || run.variant !== asBuilt);
      rows.push(judgeRound(round, before, after, isJudged ? limits : undefined, report));
      before = after;
      ({ end } = round);
      if (!isRepeated) break;
    }
  }
  return rows;
}
