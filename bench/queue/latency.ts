import { setTimeout as delay } from "node:timers/promises";
import type { BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import type { Mode } from "./contestant.ts";
import type { Member } from "./members.ts";
import { type Effort, latencyBounds, type Result } from "./rows.ts";

// Slices are short, so that a disturbance of the machine affects all queues. Rounds are short, because a disturbed
// round is discarded.
const LATENCIES = 30;
const SLICES = 5;
/** For each requested round: the number of valid rounds that suffices, and the maximum number of rounds. */
const ENOUGH = 2;
const MOST = 4;
const PAUSE_MS = 10_000;

interface Try {
  readonly member: Member;
  readonly mode: Mode;
  /** The latencies of each valid round. */
  readonly rounds: (readonly number[])[];
  /** The latencies of all rounds. */
  readonly all: (readonly number[])[];
}

/**
 * Measures latencies; a result is the median of the rounds. graphile-worker runs in both modes, and its better mode counts.
 * A round counts only if the commits without a queue show that the machine was undisturbed; other rounds are repeated.
 */
export async function measureLatency(
  members: readonly Member[],
  { rounds, share }: Effort,
  { note, quick }: Pick<BenchOptions, "note" | "quick">,
  pauseMs = PAUSE_MS,
): Promise<Result[]> {
  const modesOf = (name: string): readonly Mode[] =>
    name === "graphile-worker" ? ["default", "fastest"] : ["default"];
  const tries: readonly Try[] = members.flatMap((member) =>
    modesOf(member.name).map((mode) => ({ member, mode, rounds: [], all: [] })),
  );
  const floor = tries.findIndex(({ member }) => member.name === "commit");
  const counted = (): number => tries[floor]?.rounds.length ?? 0;
  // A quick run has too few commits to check its rounds.
  const [enough, most] = quick ? [rounds, rounds] : [rounds * ENOUGH, rounds * MOST];
  let tried = 0;
  let counts = true;
  for (; tried < most && counted() < enough; tried++) {
    if (tried > 0 && !counts) await delay(pauseMs);
    const round = await measureRound(tries, tried, share);
    const { isQuiet, took } = quietOf(round[floor] ?? []);
    counts = quick || isQuiet;
    const slowest = tries.map((each, at) => `${nameOf(each)} ${p99Of(round[at] ?? []).toFixed(2)}`);
    note(
      `latency, round ${tried + 1}: ${counts ? "" : "does not count, "}${took}; p99 ${slowest.join(", ")}`,
    );
    for (const [at, each] of tries.entries()) {
      each.all.push(round[at] ?? []);
      if (counts) each.rounds.push(round[at] ?? []);
    }
  }
  const medians = tries.map((each) => `${nameOf(each)} ${summarise(each.all.map(p99Of)).median.toFixed(2)}`);
  note(`latency, all ${tried} rounds, ${counted()} of which count: median p99 ${medians.join(", ")}`);
  const doubt =
    counted() < rounds ? `${counted()} of ${tried} rounds count, but ${rounds} are required` : undefined;
  return (["p50", "p99"] as const).flatMap((metric) => {
    const of = metric === "p50" ? p50Of : p99Of;
    return [...new Set(tries.map(({ member }) => member.name))].map((name) => {
      const [values = []] = tries
        .filter(({ member }) => member.name === name)
        // If no round counts, show all rounds; `doubt` contains the reason.
        .map((each) => (each.rounds.length > 0 ? each.rounds : each.all).map(of))
        .toSorted((a, b) => summarise(a).median - summarise(b).median);
      return { name, metric: `latency/${metric}`, unit: "ms", values, bound: latencyBounds[metric], doubt };
    });
  });
}

/** Measures the latencies of each queue in one round. */
async function measureRound(
  tries: readonly Try[],
  round: number,
  share: number,
): Promise<readonly number[][]> {
  const taken: number[][] = tries.map(() => []);
  const slices = Math.max(1, Math.round(SLICES * share));
  const jobs = Math.max(5, Math.round(LATENCIES * share));
  for (let slice = round * slices; slice < (round + 1) * slices; slice++) {
    for (const at of orderOf(slice, tries.length)) {
      const { member, mode } = tries[at] as Try;
      taken[at]?.push(...(await member.latencies({ order: "latency", mode, jobs })));
    }
  }
  return taken;
}

function nameOf({ member, mode }: Try): string {
  return mode === "default" ? member.name : `${member.name} ${mode}`;
}

/**
 * Returns whether disk and processors were undisturbed: the 99th percentile of the commits is at most four times their
 * median.
 */
function quietOf(commits: readonly number[]): { readonly isQuiet: boolean; readonly took: string } {
  const [p50, p99] = [p50Of(commits), p99Of(commits)];
  const took = `commit p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  return { isQuiet: p99 <= 4 * p50, took };
}

/**
 * Returns the order of the cases in a slice. The disk is still busy with the writes of the previous case, so within
 * `count` slices every case directly follows every other case once (a Williams square, exact for an even `count`). Pairs
 * across two slices are not balanced: a case that starts a slice always follows the same case.
 */
export function orderOf(slice: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => {
    const step = at % 2 === 0 ? at / 2 : count - (at + 1) / 2;
    return (step + slice) % count;
  });
}

function p50Of(times: readonly number[]): number {
  return quantileOf(times, 0.5);
}

function p99Of(times: readonly number[]): number {
  return quantileOf(times, 0.99);
}

function quantileOf(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
