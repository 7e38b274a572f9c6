import { brokenVerifiers } from "../packages/jwt-auth/test/differential/broken-verifiers.ts";
import type { Comparison, Fault } from "../packages/jwt-auth/test/differential/compare.ts";
import { kinds } from "../packages/jwt-auth/test/differential/mutations.ts";
import { stricterClasses } from "../packages/jwt-auth/test/differential/stricter.ts";
import { algorithms } from "@svc/jwt-auth";
import type { Experiment } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";

const fullSize = 100_000;
const samples = 5;

/** Compares the verdicts of jwt-auth's verifier and of jose's on generated tokens, and classifies every difference. */
export const tokenDifferential: Experiment = {
  name: "token-differential",
  description:
    "100,000 tokens, valid, changed and hostile: verdicts differ from jose's only in the listed classes",
  brokenVariants: Object.keys(brokenVerifiers),
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 1e9);
    const cases = run.cases ?? (run.quick ? 2000 : fullSize);
    report.note(`repeat with: --seed ${seed} --cases ${cases}`);
    // Load this on demand, because the module generates keys.
    const { compare } = await import("../packages/jwt-auth/test/differential/compare.ts");
    const result = await compare({ cases, seed, wrap: brokenVerifiers[run.variant] });
    reportCounts(result, seed, report);
    for (const [what, faults] of Map.groupBy(result.faults, (each) => each.what)) {
      report.figure("faults", what, faults.length, "count");
      for (const fault of faults.slice(0, samples)) report.note(textOf(fault));
    }
    reportRules(result, report);
  },
};

function reportCounts(result: Comparison, seed: number, report: Report): void {
  report.figure("all", "tokens", result.cases, "count");
  report.figure("all", "seed", seed, "seed");
  report.figure("all", "accepted by both", result.valid, "count");
  report.figure("all", "refused by both", result.refusedByBoth, "count");
  report.figure("all", "refused only here", sum(result.stricter), "count");
  report.figure("all", "accepted only here, by a fraction of a second", result.subSecond, "count");
  for (const [name, count] of sorted(result.stricter))
    report.figure("refused only here", name, count, "count");
  for (const [name, count] of sorted(result.perAlgorithm)) report.figure("algorithm", name, count, "count");
  for (const [name, count] of sorted(result.perKind)) report.figure("kind of change", name, count, "count");
  for (const [name, count] of sorted(result.perReason)) report.figure("verdict here", name, count, "count");
}

function reportRules(result: Comparison, report: Report): void {
  const found = (what: string): number => result.faults.filter((each) => each.what === what).length;
  const least = Math.min(
    ...algorithms.map((each) => result.perAlgorithm.get(each) ?? 0),
    ...kinds.map((each) => result.perKind.get(each) ?? 0),
  );
  const enough = Math.floor((500 * result.cases) / fullSize);
  report.rule(
    found("accepted, and refused by jose") === 0,
    "every token that jose refuses is refused, except for fractions of a second",
  );
  report.rule(
    found("stricter in no listed class") === 0,
    "every token refused only by jwt-auth belongs to a listed class",
  );
  report.rule(found("accepted what has to be refused") === 0, "no token with a listed defect is accepted");
  report.rule(
    found("other claims than jose's") === 0,
    "a token that both accept has the same claims in both",
  );
  report.rule(
    found("another answer the second time") === 0,
    "a second verification of a token gives the same verdict",
  );
  report.rule(
    [...result.stricter.keys()].every((each) => each in stricterClasses),
    "every class has a name",
  );
  report.rule(result.valid >= result.cases / 5, "at least 20 % of the tokens are valid");
  report.rule(least >= enough, `every algorithm and every kind of change occurs at least ${enough} times`);
}

function textOf({ what, index, kind, detail, token }: Fault): string {
  return `${what}: number ${index}, ${kind}, ${detail}: ${JSON.stringify(token.slice(0, 240))}`;
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].toSorted(([a], [b]) => a.localeCompare(b));
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, each) => all + each, 0);
}
