import type { Check } from "./check.ts";
import type { Finding, Outcome } from "./conformance-report.ts";
import { requirable, seenIn } from "./needs.ts";
import type { Settings } from "./settings.ts";

/**
 * Returns the outcome of a run.
 * @param rules number of rules that apply to this profile
 * @param routes number of routes in `/openapi.json`
 */
export function outcomeOf(
  { require, maxNotApplicable, house }: Settings,
  findings: readonly Finding[],
  checks: readonly Check[],
  rules: number,
  routes: number,
): Outcome {
  const count = (status: string): number => findings.filter((each) => each.verdict.status === status).length;
  const [passed, failed, notApplicable] = [count("pass"), count("fail"), count("not applicable")];
  const total = findings.length;
  const seen = seenIn(findings, checks, routes);
  const missed = require.filter((name) => !seen.has(name));
  const most = maxNotApplicable ?? Math.floor(total / 2);
  const shortfalls = [
    ...(missed.length > 0 ? [`no rule was checked for these names in --require: ${missed.join(", ")}`] : []),
    ...(notApplicable > most ? [`${notApplicable} rules not applicable, at most ${most} allowed`] : []),
  ];
  const lacking = new Set(
    findings.flatMap(({ verdict }) => ("lacks" in verdict ? (verdict.lacks ?? []) : [])),
  );
  return {
    passed,
    failed,
    notApplicable,
    total,
    notSeen: requirable(checks).filter((name) => lacking.has(name) && !seen.has(name)),
    shortfalls,
    conforms: failed === 0 && shortfalls.length === 0,
    verdict: verdictOf(findings, rules, house),
  };
}

function verdictOf(findings: readonly Finding[], rules: number, house: boolean): string {
  const failed = (source: Finding["source"]): number =>
    findings.filter((each) => each.source === source && each.verdict.status === "fail").length;
  const judged = findings.filter(({ verdict }) => verdict.status !== "not applicable").length;
  const isWhole =
    findings.length === rules &&
    findings.every(({ verdict }) => verdict.status !== "not applicable" || verdict.ruledOut);
  const kept = isWhole
    ? "the service meets the contract"
    : `no rule of the contract is broken, ${judged} of ${rules} rules checked`;
  const contract = failed("contract") === 0 ? kept : "the service breaks the contract";
  return house ? `${contract}; conventions broken: ${failed("house")}` : contract;
}
