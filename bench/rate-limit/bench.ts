import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openTestRedis } from "@svc/dev-services";
import type { Bench, BenchOptions } from "../harness/bench.ts";
import { measureWithControls, VoidRunError } from "../harness/controls.ts";
import { summarise } from "../harness/figures.ts";
import { type Effort, fullEffort, type Measured, quickEffort } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";
import { conclude, type Verdict } from "../harness/verdicts.ts";
import { type Crossing, crossBoundary } from "./boundary.ts";
import { caseNames, type CaseName, type LimitSetting, usesRedis } from "./limits.ts";
import type { Growth } from "./memory-process.ts";
import { boundaryVerdicts, costVerdicts, memoryVerdicts } from "./verdicts.ts";

const BASE: CaseName = "none";
const CONTROL = "control";
// All requests are admitted, so that every case does the whole work.
const NUMBERS = { limit: 1_000_000_000, windowSeconds: 60 } as const;
const MEMORY = "memory";

/** Measures what a limit adds to a request, how many requests it admits around the end of a window, and its memory. */
export const rateLimits: Bench = {
  async run(options) {
    const chosen = chosenCases(options.only);
    await using redis = chosen.some(usesRedis) ? await openTestRedis() : undefined;
    const { url = "", keyPrefix = "" } = redis ?? {};
    const verdicts: Verdict[] = [];
    if (chosen.length > 0) {
      const { costs, fault } = await measureCosts(chosen, { url, keyPrefix }, options);
      for (const [name, samples] of costs) show(name, "us_per_request", summarise(samples).median, options);
      verdicts.push(...(fault === undefined ? costVerdicts(costs) : [fault]));
      const crossings = new Map<string, Crossing>();
      for (const by of chosen.filter((each) => each !== BASE)) {
        const crossing = await crossBoundary({ by, redis: { url, keyPrefix: `${keyPrefix}boundary:` } });
        crossings.set(by, crossing);
        show(by, "admitted_over_boundary", crossing.admitted, options);
      }
      verdicts.push(...boundaryVerdicts(crossings));
    }
    if (options.only === undefined || options.only.includes(MEMORY)) {
      const growth = await memoryOfAddresses();
      for (const [quarter, mb] of growth.entries())
        show(MEMORY, `mb_after_${(quarter + 1) * 250}k`, mb, options);
      verdicts.push(...memoryVerdicts(growth));
    }
    return conclude(verdicts, options);
  },
};

/** @throws Error that lists the known cases */
function chosenCases(only: readonly string[] | undefined): readonly CaseName[] {
  const known: readonly string[] = [...caseNames, MEMORY];
  const unknown = only?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`there is no case ${unknown.join(", ")}; there are ${known.join(", ")}`);
  const named = caseNames.filter((name) => only === undefined || only.includes(name));
  return named.length === 0 || named.includes(BASE) ? named : [BASE, ...named];
}

async function measureCosts(
  names: readonly CaseName[],
  redis: LimitSetting["redis"],
  { quick, rounds, note }: BenchOptions,
): Promise<{ readonly costs: Measured; readonly fault?: Verdict }> {
  const of = (name: string, by: CaseName): Case => ({
    name,
    module: new URL("./subject.ts", import.meta.url),
    setting: JSON.stringify({ by, redis, ...NUMBERS } satisfies LimitSetting),
  });
  const cases = [...names.map((name) => of(name, name)), of(CONTROL, BASE)];
  const effort: Effort = quick ? quickEffort : fullEffort;
  try {
    const controls = { base: BASE, names: [CONTROL] };
    const chosen = rounds === undefined ? effort : { ...effort, rounds };
    return { costs: await measureWithControls(cases, controls, chosen, note) };
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    return { costs: error.measured, fault: { mark: "VOID", text: error.message } };
  }
}

async function memoryOfAddresses(): Promise<Growth> {
  const file = fileURLToPath(new URL("memory-process.ts", import.meta.url));
  const flags = ["--conditions=@svc/source", "--expose-gc"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file]);
  return JSON.parse(stdout) as Growth;
}

function show(name: string, metric: string, exact: number, { json, print }: BenchOptions): void {
  const value = Math.round(exact * 100) / 100;
  const line = `${name.padEnd(30)}${metric.padEnd(24)}${value.toFixed(2).padStart(9)}`;
  print(json ? JSON.stringify({ bench: "rate-limit", case: name, metric, value }) : line);
}
