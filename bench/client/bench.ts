import type { Bench, BenchOptions } from "../harness/bench.ts";
import { ratioOf, summarise } from "../harness/figures.ts";
import { measureWithControls, VoidRunError } from "../harness/controls.ts";
import { type Effort, fullEffort, type Measured, quickEffort } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";
import { conclude, judged, type Verdict } from "../harness/verdicts.ts";
import { startUpstream } from "./upstream.ts";

const NAMES = ["undici-request", "svc", "svc-context", "fetch"] as const;
const CONTROL = "control";
const BASE = "undici-request";
const bounds = [
  { to: "fetch", most: 0.5 },
  { to: "undici-request", most: 1.3 },
] as const;

// A call waits for the server, so a slice needs fewer of them than of requests without sockets.
const full: Effort = { ...fullEffort, warmUp: 3_000, sliceMs: 50, fewest: 400, most: 1_000 };
const quick: Effort = { ...quickEffort, warmUp: 500, fewest: 100, most: 200 };

/** Measures the CPU time of a call to another process with the client of this collection and with its peers. */
export const client: Bench = {
  async run(options) {
    const unknown = options.only?.filter((name) => !(NAMES as readonly string[]).includes(name)) ?? [];
    if (unknown.length > 0)
      throw new Error(`there is no case ${unknown.join(", ")}; there are ${NAMES.join(", ")}`);
    await using upstream = await startUpstream();
    const { costs, fault } = await measureCalls(upstream.url, options);
    for (const [name, samples] of costs) {
      show(name, "us_per_call", summarise(samples).median, options);
      show(name, "ratio", ratioOf(samples, costs.get(BASE) ?? []), options);
    }
    return conclude(fault === undefined ? verdictsOf(costs) : [fault], options);
  },
};

async function measureCalls(
  url: string,
  { only, quick: isQuick, rounds, note }: BenchOptions,
): Promise<{ readonly costs: Measured; readonly fault?: Verdict }> {
  const at = (name: string, by: string = name): Case => ({
    name,
    module: new URL("./subject.ts", import.meta.url),
    setting: JSON.stringify({ by, url }),
  });
  const chosen = NAMES.filter((name) => name === BASE || only === undefined || only.includes(name));
  const cases = [...chosen.map((name) => at(name)), at(CONTROL, BASE)];
  const effort = isQuick ? quick : full;
  try {
    const controls = { base: BASE, names: [CONTROL] };
    const given = rounds === undefined ? effort : { ...effort, rounds };
    return { costs: await measureWithControls(cases, controls, given, note) };
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    return { costs: error.measured, fault: { mark: "VOID", text: error.message } };
  }
}

/** Returns the verdicts of the bounds whose cases were measured. */
export function verdictsOf(costs: Measured): readonly Verdict[] {
  const own = costs.get("svc");
  return bounds.flatMap(({ to, most }) => {
    const other = costs.get(to);
    if (own === undefined || other === undefined) return [];
    const ratio = ratioOf(own, other);
    return [judged(ratio <= most, `svc: ${ratio.toFixed(3)} x ${to}, bound at most ${most}`)];
  });
}

function show(name: string, metric: string, exact: number, { json, print }: BenchOptions): void {
  const value = Math.round(exact * 1000) / 1000;
  const line = `${name.padEnd(19)}${metric.padEnd(19)}${value.toFixed(2).padStart(9)}`;
  print(json ? JSON.stringify({ bench: "client", case: name, metric, value }) : line);
}
