import type { Bench, BenchOptions } from "../harness/bench.ts";
import { measureWithControls, VoidRunError } from "../harness/controls.ts";
import { ratioOf, summarise } from "../harness/figures.ts";
import { fullEffort, type Measured, quickEffort } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";
import { conclude, type Verdict } from "../harness/verdicts.ts";
import type { OrderSetting } from "./subject.ts";
import { openapiVerdicts } from "./verdicts.ts";

const BASE = "bare-express5";
const CONTROL = "control";

const settings: Readonly<Record<string, OrderSetting>> = {
  [BASE]: { by: BASE, isRefused: false },
  "by-hand": { by: "by-hand", isRefused: false },
  svc: { by: "svc", isRefused: false },
  "express-openapi-validator": { by: "express-openapi-validator", isRefused: false },
  "by-hand-refused": { by: "by-hand", isRefused: true },
  "svc-refused": { by: "svc", isRefused: true },
  "express-openapi-validator-refused": { by: "express-openapi-validator", isRefused: true },
};

/**
 * Measures the CPU time of a POST whose body has twelve members, with handwritten checks, with `route()` and with a peer.
 */
export const openapiBench: Bench = {
  async run(options) {
    const names = Object.keys(settings);
    const unknown = options.only?.filter((name) => !names.includes(name)) ?? [];
    if (unknown.length > 0)
      throw new Error(`there is no case ${unknown.join(", ")}; there are ${names.join(", ")}`);
    const chosen = names.filter((name) => name === BASE || (options.only?.includes(name) ?? true));
    const { costs, fault } = await measureCosts(chosen, options);
    for (const [name, samples] of costs) {
      show(name, "us_per_request", summarise(samples).median, options);
      show(name, "ratio", ratioOf(samples, costs.get(BASE) ?? []), options);
    }
    return conclude(fault === undefined ? openapiVerdicts(costs) : [fault], options);
  },
};

async function measureCosts(
  names: readonly string[],
  { quick, rounds, note }: BenchOptions,
): Promise<{ readonly costs: Measured; readonly fault?: Verdict }> {
  const of = (name: string, as: string): Case => ({
    name,
    module: new URL("./subject.ts", import.meta.url),
    setting: JSON.stringify(settings[as]),
  });
  const cases = [...names.map((name) => of(name, name)), of(CONTROL, BASE)];
  const effort = quick ? quickEffort : fullEffort;
  try {
    const controls = { base: BASE, names: [CONTROL] };
    const chosen = rounds === undefined ? effort : { ...effort, rounds };
    return { costs: await measureWithControls(cases, controls, chosen, note) };
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    return { costs: error.measured, fault: { mark: "VOID", text: error.message } };
  }
}

function show(name: string, metric: string, exact: number, { json, print }: BenchOptions): void {
  const value = Math.round(exact * 1000) / 1000;
  const line = `${name.padEnd(36)}${metric.padEnd(19)}${value.toFixed(2).padStart(9)}`;
  print(json ? JSON.stringify({ bench: "openapi", case: name, metric, value }) : line);
}
