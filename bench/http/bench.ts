import type { Bench, BenchOptions } from "../harness/bench.ts";
import { measureWithControls, VoidRunError } from "../harness/controls.ts";
import { type Bases, figuresOf, tableOf } from "../harness/report.ts";
import { type Effort, fullEffort, type Measured, quickEffort } from "../harness/rounds.ts";
import { concludeAgainst, measureAgainst } from "./against.ts";
import { verdictsOf } from "./bounds.ts";
import { measureOverSockets } from "./over-sockets.ts";
import { chosenCases, controls, pairs, tuned } from "./cases.ts";

const bases: Bases = { base: controls.base, second: tuned, pairs };

/** Measures the cost of a request. */
export const http: Bench = {
  async run(options) {
    if (options.base !== undefined) {
      return concludeAgainst(await measureAgainst(options.base, effortOf(options), options), options);
    }
    const cases = chosenCases(options.only);
    let code = 0;
    try {
      const measured = await measureWithControls(cases, controls, effortOf(options), options.note);
      print("http", measured, options);
      code = judge(measured, options);
    } catch (error) {
      if (!(error instanceof VoidRunError)) throw error;
      for (const line of tableOf(error.measured, bases)) options.note(line);
      options.note(error.message);
      return 1;
    }
    if (options.socket) {
      if (!options.json) options.print("\nOver sockets, for information: the server's CPU time");
      print("http-socket", await measureOverSockets(cases, options.quick ? 6 : 25), options);
    }
    return code;
  },
};

/** Prints the verdicts on the bounds and returns the exit code. A quick run does not check bounds. */
function judge(measured: Measured, { quick, json, note, print: line }: BenchOptions): number {
  const verdicts = quick ? [] : verdictsOf(measured);
  for (const verdict of verdicts) (json ? note : line)(verdict.line);
  return verdicts.some(({ broken }) => broken) ? 1 : 0;
}

function effortOf({ quick, rounds }: BenchOptions): Effort {
  const effort = quick ? quickEffort : fullEffort;
  return rounds === undefined ? effort : { ...effort, rounds };
}

function print(bench: string, measured: Measured, { json, print: line }: BenchOptions): void {
  if (json) {
    for (const figure of figuresOf(bench, measured, bases)) line(JSON.stringify(figure));
    return;
  }
  for (const row of tableOf(measured, bases)) line(row);
  line("A ratio below 1.00 includes the tuning of Express itself; compare with the last column.");
}
