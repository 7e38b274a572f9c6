import { setTimeout as delay } from "node:timers/promises";
import type { BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import type { Mode } from "./contestant.ts";
import type { Member } from "./members.ts";
import { type Effort, latencyBounds, type Result } from "./rows.ts";

// Short slices, and many: what disturbs the machine for a while meets all of them.
const LATENCIES = 30;
const SLICES = 10;

interface Try {
  readonly member: Member;
  readonly mode: Mode;
  /** The latencies of each. */
  readonly rounds: number[][];
}

/**
 * Graphile in both modes, of which the better one counts. A figure is the median of the rounds, as in the other rows: when the disk stalls for
 * a minute, that minute is the p99 of all latencies, whoever is measured.
 */
export async function measureLatency(
  members: readonly Member[],
  { rounds, share }: Effort,
  { note, quick }: Pick<BenchOptions, "note" | "quick">,
): Promise<Result[]> {
  const modesOf = (name: string): readonly Mode[] =>
    name === "graphile-worker" ? ["default", "fastest"] : ["default"];
  const tries: readonly Try[] = members.flatMap((member) =>
    modesOf(member.name).map((mode) => ({ member, mode, rounds: [] })),
  );
  const disk = members.find(({ name }) => name === "commit");
  if (disk !== undefined) await calm(disk, Math.ceil(CALM.commits * share), quick ? 1 : CALM.tries, note);
  const jobs = Math.max(5, Math.round(LATENCIES * share));
  const slices = Math.max(1, Math.round(SLICES * share));
  for (let slice = 0; slice < rounds * slices; slice++) {
    for (const at of orderOf(slice, tries.length)) {
      const { member, mode, rounds: taken } = tries[at] as Try;
      const round = (taken[Math.floor(slice / slices)] ??= []);
      round.push(...(await member.latencies({ order: "latency", mode, jobs })));
    }
  }
  note("latency measured");
  return (["p50", "p99"] as const).flatMap((metric) => {
    const of = (times: readonly number[]): number => quantileOf(times, metric === "p50" ? 0.5 : 0.99);
    const best = [...new Set(tries.map(({ member }) => member.name))].map((name) => {
      const [first] = tries
        .filter(({ member }) => member.name === name)
        .map(({ rounds: taken }) => ({ values: taken.map(of), all: of(taken.flat()) }))
        .toSorted((a, b) => summarise(a.values).median - summarise(b.values).median);
      return { name, values: first?.values ?? [], all: first?.all ?? Number.NaN };
    });
    const all = best.map(({ name, all: value }) => `${name} ${value.toFixed(2)} ms`).join(", ");
    note(`latency/${metric} of all rounds together: ${all}`);
    return best.map(({ name, values }) => ({
      name,
      metric: `latency/${metric}`,
      unit: "ms" as const,
      values,
      bound: latencyBounds[metric],
    }));
  });
}

const CALM = { tries: 10, commits: 300, pauseMs: 20_000 };

/**
 * Latency is that of an idle server, so the disk has to be idle too: waits, for some minutes at most, until hardly a commit in a hundred takes
 * four times as long as most of them do, and says what it saw.
 */
async function calm(
  disk: Member,
  jobs: number,
  attempts: number,
  note: (line: string) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const times = await disk.latencies({ order: "latency", mode: "default", jobs });
    const [p50, p99] = [quantileOf(times, 0.5), quantileOf(times, 0.99)];
    const isCalm = p99 <= 4 * p50;
    const last = isCalm || attempt >= attempts;
    const what = isCalm ? "the disk is idle" : last ? "the disk is not idle" : "waiting for the disk";
    note(`${what}: a commit takes ${p50.toFixed(2)} ms, one in a hundred ${p99.toFixed(2)} ms`);
    if (last) return;
    await delay(CALM.pauseMs);
  }
}

/**
 * Who comes after whom in a slice, so that in as many slices as there are of them everybody has come after everybody else once (a
 * Williams square; exact where their number is even): the disk is busy for a while with what the one before has left.
 */
export function orderOf(slice: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => {
    const step = at % 2 === 0 ? at / 2 : count - (at + 1) / 2;
    return (step + slice) % count;
  });
}

function quantileOf(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
