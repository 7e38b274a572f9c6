import type { Bench, BenchOptions } from "./bench.ts";
import { measureWithControls, VoidRunError } from "./controls.ts";
import { ratioOf, summarise } from "./figures.ts";
import { type Effort, fullEffort, type Measured, quickEffort } from "./rounds.ts";
import type { Case } from "./subject.ts";
import { startUpstream } from "./upstream.ts";
import { throughputs } from "./throughput.ts";
import { conclude, judged, type Verdict } from "./verdicts.ts";

/** A comparison of `svc` with peers that all use the same server in another process. */
export interface PeerComparison {
  readonly bench: string;
  /** All cases, with `svc`; the first one is the base, which a control repeats. */
  readonly names: readonly [base: string, ...others: string[]];
  /** The module of all cases; its setting is the name of the case and the URL of the server. */
  readonly module: URL;
  /** The noun for a unit of work in the names of metrics. */
  readonly unit: "call" | "request";
  /** Whether to print how many units of work per second of wall-clock time each case completes. */
  readonly hasThroughput?: boolean;
  /** The largest permitted cost of `svc`, relative to a peer. */
  readonly bounds: readonly { readonly to: string; readonly most: number }[];
}

/** The setting of a case, as JSON. */
export interface PeerSetting {
  readonly by: string;
  readonly url: string;
}

const CONTROL = "control";

// The work waits for a server, so a slice needs fewer units than a slice of work without sockets.
const full: Effort = { ...fullEffort, warmUp: 3_000, sliceMs: 50, fewest: 400, most: 1_000 };
const quick: Effort = { ...quickEffort, warmUp: 500, fewest: 100, most: 200 };

/** Returns a bench of the CPU time of each case's process. */
export function peerBench(comparison: PeerComparison): Bench {
  const { bench, names, unit } = comparison;
  const [base] = names;
  return {
    async run(options) {
      const unknown = options.only?.filter((name) => !names.includes(name)) ?? [];
      if (unknown.length > 0)
        throw new Error(`there is no case ${unknown.join(", ")}; there are ${names.join(", ")}`);
      await using upstream = await startUpstream();
      const { cases, effort } = planOf(comparison, upstream.url, options);
      const { costs, fault } = await measurePeers(cases, base, effort, options);
      const show = (name: string, metric: string, exact: number): void => {
        const value = Math.round(exact * 1000) / 1000;
        const line = `${name.padEnd(24)}${metric.padEnd(19)}${value.toFixed(2).padStart(9)}`;
        options.print(options.json ? JSON.stringify({ bench, case: name, metric, value }) : line);
      };
      for (const [name, samples] of costs) {
        show(name, `us_per_${unit}`, summarise(samples).median);
        show(name, "ratio", ratioOf(samples, costs.get(base) ?? []));
      }
      if (comparison.hasThroughput === true) {
        for (const [name, each] of await throughputs(cases, effort)) show(name, `${unit}s_per_s`, each);
      }
      return conclude(fault === undefined ? peerVerdicts(comparison, costs) : [fault], options);
    },
  };
}

/** Returns the cases to measure, with the control, and the amount of work. */
function planOf(
  { names, module }: PeerComparison,
  url: string,
  { only, quick: isQuick, rounds }: BenchOptions,
): { readonly cases: readonly Case[]; readonly effort: Effort } {
  const [base] = names;
  const at = (name: string, by: string = name): Case => ({
    name,
    module,
    setting: JSON.stringify({ by, url } satisfies PeerSetting),
  });
  const chosen = names.filter((name) => name === base || only === undefined || only.includes(name));
  const effort = isQuick ? quick : full;
  return {
    cases: [...chosen.map((name) => at(name)), at(CONTROL, base)],
    effort: rounds === undefined ? effort : { ...effort, rounds },
  };
}

async function measurePeers(
  cases: readonly Case[],
  base: string,
  effort: Effort,
  { note }: BenchOptions,
): Promise<{ readonly costs: Measured; readonly fault?: Verdict }> {
  try {
    return { costs: await measureWithControls(cases, { base, names: [CONTROL] }, effort, note) };
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    return { costs: error.measured, fault: { mark: "VOID", text: error.message } };
  }
}

/** Returns the verdicts of the bounds whose cases were measured. */
export function peerVerdicts(
  { bounds }: Pick<PeerComparison, "bounds">,
  costs: Measured,
): readonly Verdict[] {
  const own = costs.get("svc");
  return bounds.flatMap(({ to, most }) => {
    const other = costs.get(to);
    if (own === undefined || other === undefined) return [];
    const ratio = ratioOf(own, other);
    return [judged(ratio <= most, `svc: ${ratio.toFixed(3)} x ${to}, bound at most ${most}`)];
  });
}
