import type { Bench, BenchOptions } from "../harness/bench.ts";
import { conclude, judged, type Verdict } from "../harness/verdicts.ts";
import { columns } from "../queue/verdicts.ts";
import { cases, ours } from "./cases.ts";
import { keeps, type Scenario, scenarios } from "./scenarios.ts";

/** Counts the requests that each client sends to an issuer, and the look-ups that succeed while the issuer is down. */
export const keyset: Bench = {
  async run(options) {
    const names = chosen(options.only);
    const table: string[][] = [["", ...names, `bound for ${ours}`]];
    const verdicts: Verdict[] = [];
    for (const scenario of scenarios) {
      const values = await measured(scenario, names, options);
      const own = values.get(ours);
      if (own !== undefined) {
        const text = `${ours} ${scenario.metric}: ${own}, bound ${boundOf(scenario)}`;
        verdicts.push(judged(keeps(scenario, own), text));
      }
      table.push([scenario.metric, ...[...values.values()].map(String), boundOf(scenario)]);
    }
    if (!options.json) for (const line of columns(table)) options.print(line);
    return conclude(verdicts, options);
  },
};

async function measured(
  { metric, run }: Scenario,
  names: readonly string[],
  { json, print }: BenchOptions,
): Promise<ReadonlyMap<string, number>> {
  const values = new Map<string, number>();
  for (const name of names) {
    const make = cases[name];
    if (make === undefined) continue;
    const value = await run(make);
    values.set(name, value);
    if (json) print(JSON.stringify({ bench: "keyset", case: name, metric, value, unit: "count" }));
  }
  return values;
}

function chosen(only: readonly string[] | undefined): readonly string[] {
  const all = Object.keys(cases);
  const unknown = only?.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${all.join(", ")}`);
  return all.filter((name) => name === ours || only === undefined || only.includes(name));
}

function boundOf({ better, bound }: Scenario): string {
  return better === "less" ? `at most ${bound}` : `${bound} of 20`;
}
