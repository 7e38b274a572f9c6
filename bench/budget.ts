import { platform, type Ratios, readBaseline, recordBaseline } from "./harness/baseline.ts";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { measureWithControls, VoidRunError } from "./harness/controls.ts";
import { ratioOf } from "./harness/figures.ts";
import { type Effort, fullEffort } from "./harness/rounds.ts";
import { chosenCases, controls } from "./http/cases.ts";

/** The cases for which the budget limits the ratio to bare Express. */
export const budgeted: readonly string[] = [
  "svc-express",
  "svc-express-info",
  "svc-full",
  "svc-full-hs256-uncached",
  "packages",
  "packages-info",
  "full-packages",
];

const ownBaseline = new URL("./baseline.json", import.meta.url);
const howToRecord = "npm run bench -- budget --record";

/** The environment and the measurement of the check; tests replace both. */
export interface BudgetInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the ratios of the budgeted cases. */
  readonly ratios: (options: BenchOptions) => Promise<Ratios>;
}

/** The measured ratio of a case and its recorded ratio. */
export interface Comparison {
  readonly name: string;
  readonly ratio: number;
  /** The recorded ratio; undefined if the baseline has none for this case. */
  readonly recorded: number | undefined;
  readonly exceeded: boolean;
}

/** Checks whether requests cost more than when the baseline was recorded (PERF-1 to PERF-3). */
export const budget: Bench = {
  run: (options) => runBudget(options, { env: process.env, ratios: measureRatios }),
};

/** @throws Error when a variable or the baseline is invalid */
export async function runBudget(options: BenchOptions, { env, ratios }: BudgetInputs): Promise<number> {
  const file = env.SVC_PERF_BASELINE || ownBaseline;
  const tolerance = toleranceOf(env.SVC_PERF_TOLERANCE);
  if (!options.record && env.SVC_PERF_BUDGET !== "1") {
    options.note("the budget is off; check it with: SVC_PERF_BUDGET=1 npm run bench -- budget");
    return 0;
  }
  const recorded = (await readBaseline(file))[platform];
  if (!options.record && recorded === undefined) {
    options.note(`there is no baseline for ${platform} in ${String(file)}; record one: ${howToRecord}`);
    return 1;
  }
  let measured: Ratios;
  try {
    measured = await ratios(options);
  } catch (error) {
    if (!(error instanceof VoidRunError)) throw error;
    options.note(error.message);
    return 1;
  }
  if (options.record) {
    await recordBaseline(file, measured);
    options.note(`recorded for ${platform}: ${JSON.stringify(measured)}`);
    return 0;
  }
  return report(compare(measured, recorded ?? {}, tolerance), tolerance, options);
}

/** Compares the measured ratios with the recorded ones, and marks ratios that exceed the tolerance (PERF-2). */
export function compare(measured: Ratios, recorded: Ratios, tolerance: number): readonly Comparison[] {
  return Object.entries(measured).map(([name, ratio]) => {
    const before = Object.hasOwn(recorded, name) ? recorded[name] : undefined;
    return {
      name,
      ratio,
      recorded: before,
      exceeded: before === undefined || ratio > before * (1 + tolerance),
    };
  });
}

function report(
  comparisons: readonly Comparison[],
  tolerance: number,
  { json, print, note }: BenchOptions,
): number {
  const percent = Math.round(tolerance * 100);
  for (const { name, ratio, recorded, exceeded } of comparisons) {
    if (json)
      print(JSON.stringify({ bench: "budget", case: name, metric: "ratio", value: ratio, unit: "ratio" }));
    else
      print(
        `${exceeded ? "FAIL" : "ok  "} ${name}: ${ratio.toFixed(3)}, recorded ${recorded?.toFixed(3) ?? "nothing"}`,
      );
    if (recorded === undefined) note(`${name} has no baseline for ${platform}; record one: ${howToRecord}`);
    else if (exceeded) note(`${name} grew by more than ${percent} % over its baseline`);
  }
  return comparisons.some(({ exceeded }) => exceeded) ? 1 : 0;
}

// A quick run has fewer rounds but the full warm-up, because the ratios of cold code differ from the recorded ones.
function budgetEffort({ quick, rounds }: BenchOptions): Effort {
  return { ...fullEffort, rounds: rounds ?? (quick ? 15 : fullEffort.rounds) };
}

async function measureRatios(options: BenchOptions): Promise<Ratios> {
  const measured = await measureWithControls(
    chosenCases(budgeted),
    controls,
    budgetEffort(options),
    options.note,
  );
  const base = measured.get(controls.base) ?? [];
  return Object.fromEntries(
    budgeted.map((name) => [name, Math.round(ratioOf(measured.get(name) ?? [], base) * 1000) / 1000]),
  );
}

function toleranceOf(given: string | undefined): number {
  if (given === undefined || given === "") return 0.2;
  const tolerance = Number(given);
  if (tolerance > 0 && tolerance <= 10) return tolerance;
  throw new Error(`SVC_PERF_TOLERANCE must be a share such as 0.2 for 20 %; got ${JSON.stringify(given)}`);
}
