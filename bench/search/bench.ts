import type { Bench, BenchOptions } from "../harness/bench.ts";
import { columns } from "../queue/verdicts.ts";
import { openInProcess } from "./embedded.ts";
import type { Place } from "./place.ts";
import { type Row, runScenario } from "./scenario.ts";
import { embeddedScenario, serverScenarios } from "./scenarios.ts";
import { NoVectorServerError, openServer, VARIABLE } from "./server.ts";
import { filterVerdicts, planVerdicts, recallVerdict, sharedVerdicts, type Verdict } from "./verdicts.ts";

const EMBEDDED = "embedded";

/** One index over everybody beside one for each large tenant: time, and how much of what is there is found. */
export const search: Bench = {
  async run(options) {
    const scenarios = serverScenarios(options.quick, options.rounds);
    const names = [...scenarios.map(({ name }) => name), EMBEDDED];
    const unknown = options.only?.find((each) => !names.includes(each));
    if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${names.join(", ")}`);
    const chosen = scenarios.filter(({ name }) => options.only?.includes(name) ?? true);
    let broken = 0;
    if (chosen.length > 0) {
      const onServer = await overServer(options, async (place) => {
        for (const line of place.about) options.note(line);
        for (const scenario of chosen) {
          const rows = await runScenario(place, scenario, options.note);
          broken += report(scenario.name, rows, options);
        }
      });
      if (onServer) return broken === 0 || options.quick ? 0 : 1;
    }
    await using place = await openInProcess();
    for (const line of place.about) options.note(line);
    options.note(
      "This is the embedded server, at a size that it bears: the figures of a real server are open.",
    );
    const scenario = embeddedScenario(options.quick, options.rounds);
    broken += report(scenario.name, await runScenario(place, scenario, options.note), options);
    return broken === 0 || options.quick ? 0 : 1;
  },
};

/** False, and says why, where there is no server with the extension. One that the environment names has to be there. */
async function overServer({ note }: BenchOptions, work: (place: Place) => Promise<void>): Promise<boolean> {
  const url = process.env[VARIABLE];
  let place: Place;
  try {
    place = await openServer(url);
  } catch (error) {
    if (!(error instanceof NoVectorServerError)) throw error;
    note(`${error.message}; name one by ${VARIABLE}.`);
    return false;
  }
  try {
    await work(place);
    return true;
  } finally {
    await place[Symbol.asyncDispose]();
  }
}

/** Answers how many bounds are broken. */
function report(scenario: string, rows: readonly Row[], { json, quick, print, note }: BenchOptions): number {
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
  const verdicts = verdictsOf(rows, scenario === EMBEDDED);
  for (const { line } of verdicts) note(line);
  if (quick) note("with so few chunks the bounds are not judged");
  return verdicts.filter((verdict) => verdict.broken).length;
}

/** Of the embedded server, whose planning weighs more than its searches, the plans alone are judged. */
function verdictsOf(rows: readonly Row[], embedded: boolean): readonly Verdict[] {
  const widths = rows.some(({ metric }) => /^ef\d+$/.test(metric));
  return [
    ...(widths && !embedded ? [recallVerdict(rows)] : []),
    ...planVerdicts(rows),
    ...filterVerdicts(rows),
    ...sharedVerdicts(rows),
  ];
}
