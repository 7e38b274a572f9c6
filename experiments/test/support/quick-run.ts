import { expect } from "chai";
import { asBuilt, type Experiment, type Run, runOf } from "../../harness/experiment.ts";
import { type Collected, createReport } from "../../harness/report.ts";

/**
 * Runs an experiment as the test suite does. Prints the results when a rule is broken although no variant was given.
 */
export async function quickRun(experiment: Experiment, given: Partial<Run> = {}): Promise<Collected> {
  const said: string[] = [];
  const report = createReport(experiment.name, (line) => said.push(line));
  await experiment.run(runOf({ quick: true, ...given }), report);
  const isExpected = (given.variant ?? asBuilt) === asBuilt;
  if (isExpected && report.broken.length > 0) console.error(said.join("\n"));
  return report;
}

/** Asserts that no rule was broken, and that the report has results. */
export function expectHeld(report: Collected): void {
  expect(report.figures).to.not.be.empty;
  expect(report.broken).to.deep.equal([]);
}

/** Asserts that a rule whose text matches `words` was broken. */
export function expectBroken(report: Collected, words: RegExp): void {
  const found = report.figures.map((each) => `${each.case}, ${each.metric}: ${each.value}`).join("\n");
  expect(
    report.broken.filter((each) => words.test(each)),
    `${report.broken.join("; ")}\n${found}\n`,
  ).to.not.be.empty;
}
