import type { Bench, BenchOptions } from "../harness/bench.ts";
import { conclude, type Verdict } from "../harness/verdicts.ts";
import { columns } from "../queue/verdicts.ts";
import { openInProcess } from "./embedded.ts";
import type { Place } from "./place.ts";
import { runPlugin } from "./plugin.ts";
import { type Row, runScenario } from "./scenario.ts";
import { embeddedScenario, serverScenarios } from "./scenarios.ts";
import { NoVectorServerError, openServer, VARIABLE } from "./server.ts";
import { comparisons, filterVerdicts, planVerdicts, recallVerdict } from "./verdicts.ts";

const EMBEDDED = "embedded";
const PLUGIN = "plugin";

/**
 * Compares time and recall of a shared approximate index, of indexes and partitions by tenant, and of `svc`. Also compares
 * a search through a service to the same search of a store.
 */
export const search: Bench = {
  async run(options) {
    const scenarios = serverScenarios(options.quick, options.rounds);
    const names = [...scenarios.map(({ name }) => name), PLUGIN, EMBEDDED];
    const unknown = options.only?.find((each) => !names.includes(each));
    if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${names.join(", ")}`);
    const chosen = scenarios.filter(({ name }) => options.only?.includes(name) ?? true);
    const isPlugin = options.only?.includes(PLUGIN) ?? true;
    const verdicts: Verdict[] = [];
    if (chosen.length > 0 || isPlugin) {
      const onServer = await overServer(options, async (place) => {
        for (const line of place.about) options.note(line);
        if (isPlugin && place.url !== undefined) verdicts.push(...(await runPlugin(place.url, options)));
        for (const scenario of chosen) {
          const rows = await runScenario(place, scenario, options.note);
          verdicts.push(...report(scenario.name, rows, options));
        }
      });
      if (onServer) return conclude(verdicts, options);
      if (isPlugin) verdicts.push(...withoutServer(options));
      // The embedded server replaces a real server only for the scenarios.
      if (options.only !== undefined && chosen.length === 0 && !options.only.includes(EMBEDDED))
        return conclude(verdicts, options);
    }
    await using place = await openInProcess();
    for (const line of place.about) options.note(line);
    options.note("The embedded server gets a smaller corpus; its results do not apply to a real server.");
    const scenario = embeddedScenario(options.quick, options.rounds);
    verdicts.push(...report(scenario.name, await runScenario(place, scenario, options.note), options));
    return conclude(verdicts, options);
  },
};

/**
 * Runs `work` on a server with pgvector; returns false, with a note, if there is no such server. A server that the environment
 * names must exist.
 */
async function overServer({ note }: BenchOptions, work: (place: Place) => Promise<void>): Promise<boolean> {
  const url = process.env[VARIABLE];
  let place: Place;
  try {
    place = await openServer(url);
  } catch (error) {
    if (!(error instanceof NoVectorServerError)) throw error;
    note(`${error.message}; set ${VARIABLE} to the URL of a server with pgvector.`);
    return false;
  }
  try {
    await work(place);
    return true;
  } finally {
    await place[Symbol.asyncDispose]();
  }
}

/** Prints a note that the plugin is not measured, and returns a void verdict if `--only` names it. */
function withoutServer({ only, note }: BenchOptions): readonly Verdict[] {
  const text = `${PLUGIN}: needs a server with pgvector`;
  if (only !== undefined) return [{ mark: "VOID", text }];
  note(`${text}; skipped`);
  return [];
}

/** Prints the results and returns their verdicts. */
function report(scenario: string, rows: readonly Row[], { json, print }: BenchOptions): readonly Verdict[] {
  const prefix = scenario === EMBEDDED ? "embedded/" : "";
  if (json) {
    for (const { side, metric, ...values } of rows) {
      for (const name of ["recall", "p50", "p95", "p99"] as const) {
        const figure = { bench: "search", case: side, metric: `${prefix}${name}/${metric}` };
        const unit = name === "recall" ? "ratio" : "ms";
        print(JSON.stringify({ ...figure, value: Math.round(values[name] * 10_000) / 10_000, unit }));
      }
    }
  } else {
    const table = rows.map((row) => [
      row.metric,
      row.side,
      row.recall.toFixed(3),
      ...[row.p50, row.p95, row.p99].map((ms) => ms.toFixed(2)),
      row.approximate ? "approximate" : "exact",
    ]);
    for (const line of columns([[scenario, "", "recall", "p50 ms", "p95", "p99", "plan"], ...table]))
      print(line);
  }
  return verdictsOf(rows, scenario === EMBEDDED).map((verdict) => ({
    ...verdict,
    text: `${scenario}: ${verdict.text}`,
  }));
}

/** Judges only the plans on the embedded server, where planning takes longer than searching. */
function verdictsOf(rows: readonly Row[], embedded: boolean): readonly Verdict[] {
  const widths = rows.some(({ metric }) => /^ef\d+$/.test(metric));
  return [
    ...(widths && !embedded ? [recallVerdict(rows)] : []),
    ...planVerdicts(rows),
    ...filterVerdicts(rows),
    ...comparisons(rows),
  ];
}
